//! The trials of a calibration as a file: a line of JSON for the options, one
//! for the pilot, then one for each trial.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{CalibrationOptions, Kind, Pilot, Trial};

/// An open file of trials.
#[derive(Debug)]
pub struct Store {
    file: File,
    /// What the pilot has shown, once there is one.
    pub pilot: Option<Pilot>,
    /// The trials that have ended.
    pub trials: Vec<Trial>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    Options(CalibrationOptions),
    Pilot(Pilot),
    Trial(Trial),
}

impl Store {
    /// Opens the file, or makes it, and reads what earlier runs have left.
    ///
    /// # Errors
    /// When it cannot be read or written, or has trials of other options; the
    /// number of runs may differ.
    pub fn open(path: &Path, options: &CalibrationOptions) -> io::Result<Self> {
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let lines = text[..whole].lines().map(serde_json::from_str::<Line>);
        let mut lines = lines.collect::<Result<Vec<_>, _>>()?.into_iter();
        match lines.next() {
            None if text.is_empty() => {}
            Some(Line::Options(earlier)) if same(&earlier, options) => {}
            _ => {
                return Err(io::Error::other(
                    "it has something else in it; name another file with --results",
                ));
            }
        }
        file.set_len(whole as u64)?;
        let mut store = Self { file, pilot: None, trials: Vec::new() };
        if whole == 0 {
            store.write(&Line::Options(options.clone()))?;
        }
        for line in lines {
            match line {
                Line::Pilot(pilot) => store.pilot = Some(pilot),
                Line::Trial(trial) => store.trials.push(trial),
                Line::Options(_) => {}
            }
        }
        Ok(store)
    }

    /// Keeps what the pilot has shown.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep_pilot(&mut self, pilot: Pilot) -> io::Result<()> {
        self.write(&Line::Pilot(pilot.clone()))?;
        self.pilot = Some(pilot);
        Ok(())
    }

    /// Keeps a trial.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&mut self, trial: Trial) -> io::Result<()> {
        self.write(&Line::Trial(trial))?;
        self.trials.push(trial);
        Ok(())
    }

    /// Whether there is such a trial.
    #[must_use]
    pub fn has(&self, kind: Kind, number: usize) -> bool {
        self.trials.iter().any(|trial| trial.kind == kind && trial.number == number)
    }

    fn write(&mut self, line: &Line) -> io::Result<()> {
        let text = serde_json::to_string(line)?;
        self.file.write_all(format!("{text}\n").as_bytes())?;
        self.file.sync_data()
    }
}

fn same(earlier: &CalibrationOptions, now: &CalibrationOptions) -> bool {
    *earlier == CalibrationOptions { runs: earlier.runs, ..now.clone() }
}
