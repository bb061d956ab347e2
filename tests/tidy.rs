//! The house rules that no lint knows, checked over every Rust file of the repository.
#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

const FILE_LINES_MAX: usize = 400;
const FUNCTION_LINES_MAX: usize = 70;

/// Where a runtime may be named in code: its backend crate, the one file that binds the features and the one
/// that lists their names in an error, and the lab's controls, which are those runtimes without us.
const NAMES_RUNTIMES: &[&str] = &[
    "backend-tokio/",
    "backend-compio/",
    "backend-monoio/",
    "src/backends.rs",
    "src/choice.rs",
    "src/lib.rs",
    "lab/",
    "tests/",
    "benches/",
];

/// Where a `cfg` may look at a feature.
const BINDS_FEATURES: &[&str] = &["src/backends.rs", "lab/src/serve/heavy/mod.rs"];

/// Where `unsafe` may stand.
const UNSAFE_FILES: &[&str] =
    &["backend-compio/", "backend-monoio/", "lab/ring/", "os/src/unacknowledged.rs", "allocations.rs"];

struct Source {
    name: String,
    text: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    collect(root, &mut found);
    assert!(found.len() > 30, "only {} files were found: is the walk broken?", found.len());
    let read = |path: PathBuf| Source {
        text: fs::read_to_string(&path).expect("a readable file"),
        name: path.strip_prefix(root).expect("inside").display().to_string(),
    };
    found.into_iter().map(read).collect()
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            collect(&path, found);
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
}

/// The code without line comments: prose may say what it likes.
fn code(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    source
        .text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.split("//").next().unwrap_or_default()))
        .filter(|(_, line)| !line.trim().is_empty())
}

fn is_in(source: &Source, places: &[&str]) -> bool {
    places.iter().any(|place| source.name.starts_with(place) || source.name.ends_with(place))
}

/// Fails with all that was found, not only the first.
fn report(rule: &str, faults: Vec<String>) {
    assert!(faults.is_empty(), "{rule}:\n  {}", faults.join("\n  "));
}

fn lines_with(sources: &[Source], allowed: &[&str], matches: impl Fn(&str) -> bool) -> Vec<String> {
    let others = sources.iter().filter(|source| !is_in(source, allowed));
    others
        .flat_map(|source| code(source).map(move |(number, line)| (source, number, line)))
        .filter(|(_, _, line)| matches(line))
        .map(|(source, number, line)| format!("{}:{number}: {}", source.name, line.trim()))
        .collect()
}

#[test]
fn every_file_is_short() {
    let too_long = sources()
        .iter()
        .map(|source| (code(source).count(), source))
        .filter(|(lines, _)| *lines > FILE_LINES_MAX)
        .map(|(lines, source)| format!("{}: {lines} lines of code", source.name))
        .collect();
    report("files have one job and at most 400 lines of code", too_long);
}

#[test]
fn every_function_is_short() {
    struct Functions(Vec<(String, usize)>);
    impl Functions {
        fn note(&mut self, name: &syn::Ident, body: &syn::Block) {
            let span = body.span();
            self.0.push((name.to_string(), span.end().line - span.start().line));
        }
    }
    impl<'ast> Visit<'ast> for Functions {
        fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
            self.note(&function.sig.ident, &function.block);
            visit::visit_item_fn(self, function);
        }
        fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
            self.note(&function.sig.ident, &function.block);
            visit::visit_impl_item_fn(self, function);
        }
    }
    let mut faults = Vec::new();
    let mut seen = 0;
    for source in sources() {
        let file = syn::parse_file(&source.text).expect("Rust");
        let mut functions = Functions(Vec::new());
        functions.visit_file(&file);
        seen += functions.0.len();
        let long = functions.0.into_iter().filter(|(_, lines)| *lines > FUNCTION_LINES_MAX);
        faults.extend(long.map(|(name, lines)| format!("{}: {name} has {lines} lines", source.name)));
    }
    assert!(seen > 200, "only {seen} functions were found");
    report("functions have at most 70 lines", faults);
}

#[test]
fn every_file_says_what_it_is_for() {
    let silent = sources()
        .iter()
        .filter(|source| !source.text.starts_with("//!"))
        .map(|source| source.name.clone())
        .collect();
    report("a file opens with its module docs", silent);
}

#[test]
fn runtimes_are_named_in_their_backends_only() {
    let names = |line: &str| {
        ["tokio", "compio", "monoio", "glommio"].iter().any(|name| line.to_lowercase().contains(name))
    };
    report("only backends name a runtime", lines_with(&sources(), NAMES_RUNTIMES, names));
}

#[test]
fn features_are_bound_in_one_file() {
    let looks = |line: &str| line.contains("cfg") && line.contains("feature");
    let allowed = [BINDS_FEATURES, &["tests/tidy.rs"]].concat();
    report("features are looked at in one file of a crate", lines_with(&sources(), &allowed, looks));
}

#[test]
fn unsafe_code_is_in_the_named_files_only() {
    struct Unsafe(usize);
    impl<'ast> Visit<'ast> for Unsafe {
        fn visit_expr_unsafe(&mut self, block: &'ast syn::ExprUnsafe) {
            self.0 += 1;
            visit::visit_expr_unsafe(self, block);
        }
        fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
            self.0 += usize::from(item.unsafety.is_some());
            visit::visit_item_impl(self, item);
        }
        fn visit_signature(&mut self, signature: &'ast syn::Signature) {
            self.0 += usize::from(!matches!(signature.safety, syn::Safety::Default));
            visit::visit_signature(self, signature);
        }
    }
    let mut faults = Vec::new();
    for source in sources().iter().filter(|source| !is_in(source, UNSAFE_FILES)) {
        let mut found = Unsafe(0);
        found.visit_file(&syn::parse_file(&source.text).expect("Rust"));
        if found.0 > 0 {
            faults.push(format!("{}: {} times", source.name, found.0));
        }
    }
    report("unsafe code has its places", faults);
}
