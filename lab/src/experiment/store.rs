//! The results of an experiment as a file: a line of JSON for what it is about,
//! then one for each row that has ended. A row is on the disk before the next
//! one begins.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{Heading, PlannedRow, Record, Results};

/// An open file of results; nobody else writes to it meanwhile.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    file: File,
    records: Vec<Record>,
}

impl Store {
    /// Opens the file, or makes it, and reads what earlier runs have left. What
    /// an interruption has left of a line is cut off.
    ///
    /// # Errors
    /// When it cannot be read or written, is in use, or has something else in
    /// it.
    pub fn open(path: &Path, heading: &Heading) -> Result<Self, StoreError> {
        let failed = |source| StoreError::File { path: path.display().to_string(), source };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StoreError::InUse(path.display().to_string())),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        if whole == 0 && !text.is_empty() && !text.starts_with('{') {
            return Err(wrong(path, "it has no line of JSON".to_owned()));
        }
        file.set_len(whole as u64).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        let records = match &text[..whole] {
            "" => Vec::new(),
            text => parse(text).map_err(|reason| wrong(path, reason))?.records,
        };
        let mut store = Self { path: path.to_owned(), file, records };
        if whole == 0 {
            store.write(&serde_json::to_string(heading).expect("text is plain data"))?;
        }
        Ok(store)
    }

    /// The row's record, if it has one that is final.
    #[must_use]
    pub fn finished(&self, row: &PlannedRow) -> Option<&Record> {
        self.latest(&row.key()).filter(|record| record.is_final())
    }

    /// Forgets all rows.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn clear(&mut self, heading: &Heading) -> Result<(), StoreError> {
        self.records.clear();
        let emptied = self.file.set_len(0).and_then(|()| self.file.seek(SeekFrom::Start(0)));
        emptied.map_err(|source| StoreError::File { path: self.path.display().to_string(), source })?;
        self.write(&serde_json::to_string(heading).expect("text is plain data"))
    }

    /// Adds a record and waits until it is on the disk.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, record: Record) -> Result<(), StoreError> {
        self.write(&serde_json::to_string(&record).expect("a record is plain data"))?;
        self.records.push(record);
        Ok(())
    }

    /// The latest record of each of these rows that has one.
    #[must_use]
    pub fn results(&self, heading: &Heading, rows: &[PlannedRow]) -> Results {
        let records = rows.iter().filter_map(|row| self.latest(&row.key()).cloned());
        Results { heading: heading.clone(), records: records.collect() }
    }

    fn latest(&self, key: &str) -> Option<&Record> {
        self.records.iter().rev().find(|record| record.key == key)
    }

    fn write(&mut self, line: &str) -> Result<(), StoreError> {
        let written =
            self.file.write_all(format!("{line}\n").as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|source| StoreError::File { path: self.path.display().to_string(), source })
    }
}

/// Reads results in any form in which the lab writes them: of an experiment, as
/// lines or as one JSON, or of a single comparison.
///
/// # Errors
/// When the file cannot be read or has something else in it.
pub fn read(path: &Path) -> Result<Results, StoreError> {
    let failed = |source| StoreError::File { path: path.display().to_string(), source };
    let text = std::fs::read_to_string(path).map_err(failed)?;
    if let Ok(results) = serde_json::from_str::<Results>(&text) {
        return Ok(results);
    }
    if let Ok(row) = serde_json::from_str(&text) {
        return Ok(Results::of_row(row));
    }
    parse(&text).map_err(|reason| wrong(path, reason))
}

/// Lines to results; of several records of a row the latest counts.
fn parse(text: &str) -> Result<Results, String> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let (_, first) = lines.next().ok_or("it is empty")?;
    let heading = serde_json::from_str(first).map_err(|error| format!("line 1: {error}"))?;
    let mut records: Vec<Record> = Vec::new();
    for (index, line) in lines {
        let record: Record =
            serde_json::from_str(line).map_err(|error| format!("line {}: {error}", index + 1))?;
        match records.iter_mut().find(|earlier| earlier.key == record.key) {
            Some(earlier) => *earlier = record,
            None => records.push(record),
        }
    }
    Ok(Results { heading, records })
}

fn wrong(path: &Path, reason: String) -> StoreError {
    StoreError::Wrong { path: path.display().to_string(), reason }
}

/// Results that cannot be read or kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file could not be read or written.
    #[error("cannot use {path}: {source}")]
    File {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// Another run writes to it.
    #[error("{0} is in use by another run")]
    InUse(String),
    /// It has something else in it.
    #[error("{path} has no results of the lab: {reason}")]
    Wrong {
        /// The file.
        path: String,
        /// What is wrong.
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use super::super::{Ending, file};
    use super::*;

    /// A file that is gone with the test.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            Self(std::env::temp_dir().join(format!("corepool-lab-{name}-{}.jsonl", std::process::id())))
        }

        fn open(&self) -> Store {
            Store::open(&self.0, &Heading::default()).unwrap()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            std::fs::remove_file(&self.0).unwrap();
        }
    }

    fn rows() -> Vec<PlannedRow> {
        let text = "title = \"\"\nsystems = [\"epoll\", \"epoll\"]\n[sweep]\nworkload.bytes = [1, 2]";
        file::parse(text).unwrap().rows
    }

    fn failed(row: &PlannedRow) -> Record {
        Record::new(row, Ending::Failed("it broke".to_owned()))
    }

    #[test]
    fn what_was_added_is_there_when_it_is_opened_again() {
        let (scratch, rows) = (Scratch::new("again"), rows());
        let mut store = scratch.open();
        store.add(failed(&rows[1])).unwrap();
        drop(store);
        let results = scratch.open().results(&Heading::default(), &rows);
        assert_eq!(results.records.len(), 1);
        assert_eq!(results.records[0].key, rows[1].key());
    }

    #[test]
    fn a_line_that_was_cut_off_costs_only_itself() {
        let (scratch, rows) = (Scratch::new("torn"), rows());
        scratch.open().add(failed(&rows[0])).unwrap();
        let text = std::fs::read_to_string(&scratch.0).unwrap();
        std::fs::write(&scratch.0, format!("{text}{{\"key\":\"hal")).unwrap();
        let mut store = scratch.open();
        store.add(failed(&rows[1])).unwrap();
        assert_eq!(read(&scratch.0).unwrap().records.len(), 2);
    }

    #[test]
    fn what_failed_is_run_again_and_the_latest_counts() {
        let (scratch, rows) = (Scratch::new("latest"), rows());
        let mut store = scratch.open();
        store.add(failed(&rows[0])).unwrap();
        assert!(store.finished(&rows[0]).is_none());
        store.add(Record::new(&rows[0], Ending::Refused("too small".to_owned()))).unwrap();
        let results = store.results(&Heading::default(), &rows);
        assert!(matches!(&results.records[0].ending, Ending::Refused(_)));
        assert_eq!(read(&scratch.0).unwrap().records.len(), 1);
    }

    #[test]
    fn two_runs_never_write_to_one_file() {
        let scratch = Scratch::new("lock");
        let _first = scratch.open();
        let error = Store::open(&scratch.0, &Heading::default()).unwrap_err();
        assert!(matches!(error, StoreError::InUse(_)), "{error}");
    }

    #[test]
    fn a_file_of_something_else_is_left_alone() {
        let scratch = Scratch::new("else");
        for text in ["letters\n", "letters"] {
            std::fs::write(&scratch.0, text).unwrap();
            let error = Store::open(&scratch.0, &Heading::default()).unwrap_err();
            assert!(matches!(error, StoreError::Wrong { .. }), "{error}");
            assert_eq!(std::fs::read_to_string(&scratch.0).unwrap(), text);
        }
    }
}
