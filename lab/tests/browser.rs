//! The report as a browser shows it: light, dark, printed, and without a network. Debian's `chromium`; skipped, with a
//! notice, where it is not installed.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A page as it was painted.
struct Picture {
    /// How bright it is in the middle of its pixels, 0 to 255.
    median: u8,
    /// Pixels that differ from the most common grey by a lot: letters, lines, marks.
    marked: usize,
    /// Pixels that have a colour, and not a grey.
    coloured: usize,
    pixels: usize,
}

#[test]
fn a_report_is_legible_in_light_and_dark_and_in_print_and_asks_for_nothing() {
    if let Err(reason) = is_there() {
        println!("SKIPPED, no browser has shown the report: {reason}");
        return;
    }
    let folder = std::env::temp_dir().join(format!("corepool-browser-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let page = folder.join("report.html");
    let arguments = ["ab", "epoll", "uring", "tokio", "--where", "shared", "--no-noise"];
    let short = ["--pairs", "6", "--restarts", "2", "--slice", "0.05", "--html", page.to_str().unwrap()];
    let output = support::lab(&[&arguments[..], &short].concat());
    assert!(output.status.success(), "{}", support::errors(&output));

    let dom = browse(&folder, &page, &["--dump-dom"]);
    let dom = String::from_utf8_lossy(&dom.stdout).into_owned();
    let plots = dom.matches("<svg").count();
    assert!(plots >= 4, "{plots} plots");
    let [light, dark] = [("light", "1"), ("dark", "0")].map(|(name, scheme)| {
        let picture = folder.join(format!("{name}.png"));
        let shot = format!("--screenshot={}", picture.display());
        let scheme = format!("--blink-settings=preferredColorScheme={scheme}");
        browse(&folder, &page, &["--hide-scrollbars", "--window-size=1300,2400", &scheme, &shot]);
        look(&picture)
    });
    assert!(light.median > 200 && dark.median < 60, "{} and {}", light.median, dark.median);
    for picture in [light, dark] {
        // Text and plots, and not a page full of either.
        assert!((picture.pixels / 200..picture.pixels / 3).contains(&picture.marked), "{}", picture.marked);
        assert!(picture.coloured > 500, "{}", picture.coloured);
    }
    let paper = folder.join("report.pdf");
    browse(&folder, &page, &[&format!("--print-to-pdf={}", paper.display())]);
    let paper = std::fs::read(&paper).unwrap();
    assert!(paper.starts_with(b"%PDF") && paper.len() > 10_000, "{} bytes", paper.len());
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Whether there is a browser that can show anything here.
fn is_there() -> Result<(), String> {
    let mut command = Command::new("chromium");
    let output = command.args(WITHOUT_A_SCREEN).args(["--dump-dom", "about:blank"]).output();
    let output = output.map_err(|error| format!("chromium: {error}"))?;
    if output.status.success() { Ok(()) } else { Err(support::errors(&output)) }
}

const WITHOUT_A_SCREEN: [&str; 4] =
    ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];

/// Opens the page, with no name but this machine's, and no complaint of the page's.
fn browse(folder: &Path, page: &Path, arguments: &[&str]) -> Output {
    let profile = format!("--user-data-dir={}", folder.join("profile").display());
    let output = Command::new("chromium")
        .args(WITHOUT_A_SCREEN)
        .args([&profile, "--enable-logging=stderr", "--v=0", "--host-resolver-rules=MAP * ~NOTFOUND"])
        .args(arguments)
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let said = support::errors(&output);
    assert!(output.status.success(), "{said}");
    let complaints: Vec<_> = said.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
    output
}

fn look(picture: &PathBuf) -> Picture {
    let decoder = png::Decoder::new(BufReader::new(File::open(picture).unwrap()));
    let mut reader = decoder.read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    let pixels: Vec<_> = bytes[..info.buffer_size()].chunks_exact(info.color_type.samples()).collect();
    let mut counts = [0_usize; 256];
    for pixel in &pixels {
        counts[usize::from(grey(pixel))] += 1;
    }
    let mut seen = 0;
    let median = (0..=255_u8).find(|&level| {
        seen += counts[usize::from(level)];
        seen * 2 >= pixels.len()
    });
    let median = median.unwrap();
    let marked = pixels.iter().filter(|pixel| grey(pixel).abs_diff(median) > 60).count();
    let coloured = pixels.iter().filter(|pixel| is_coloured(pixel)).count();
    Picture { median, marked, coloured, pixels: pixels.len() }
}

fn grey(pixel: &[u8]) -> u8 {
    let sum: u16 = pixel[..3].iter().map(|&part| u16::from(part)).sum();
    (sum / 3) as u8
}

fn is_coloured(pixel: &[u8]) -> bool {
    let parts = &pixel[..3];
    parts.iter().max().unwrap() - parts.iter().min().unwrap() > 60
}
