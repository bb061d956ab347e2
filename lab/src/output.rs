//! Where results go, and in which forms.
//!
//! Files are opened before a run, so that no result is lost to one that cannot
//! be written.

use std::fs::File;
use std::io::{self, Write};

use clap::Args;
use corepool_lab::experiment::Results;
use corepool_lab::report::{csv, html, markdown};
use serde::Serialize;

use crate::commands::Failure;

/// The forms of a load.
#[derive(Debug, Args)]
pub(crate) struct JsonOutput {
    /// Write the result as JSON to a file, or to the standard output, and then only that, with -
    #[arg(long, value_name = "FILE|-")]
    json: Option<String>,
}

/// The forms of a comparison.
#[derive(Debug, Args)]
pub(crate) struct Output {
    #[command(flatten)]
    json: JsonOutput,
    /// Write a line for each figure of each server as CSV to a file
    #[arg(long, value_name = "FILE")]
    csv: Option<String>,
    /// Write tables in Markdown to a file
    #[arg(long, value_name = "FILE")]
    markdown: Option<String>,
    /// Write a report with plots, which needs no network, to a file
    #[arg(long, value_name = "FILE")]
    html: Option<String>,
}

impl JsonOutput {
    pub(crate) fn open(&self) -> Result<JsonSink, Failure> {
        let sink = match self.json.as_deref() {
            None => JsonSink::Table,
            Some("-") => JsonSink::Json,
            Some(path) => JsonSink::TableAndFile(OpenFile::create("--json", path)?),
        };
        Ok(sink)
    }
}

impl Output {
    pub(crate) fn open(&self) -> Result<Sinks, Failure> {
        let create = |option, path: &Option<String>| {
            path.as_deref().map(|path| OpenFile::create(option, path)).transpose()
        };
        Ok(Sinks {
            json: self.json.open()?,
            csv: create("--csv", &self.csv)?,
            markdown: create("--markdown", &self.markdown)?,
            html: create("--html", &self.html)?,
        })
    }
}

/// Where a load goes.
pub(crate) enum JsonSink {
    Table,
    TableAndFile(OpenFile),
    Json,
}

/// Where a comparison goes.
pub(crate) struct Sinks {
    json: JsonSink,
    csv: Option<OpenFile>,
    markdown: Option<OpenFile>,
    html: Option<OpenFile>,
}

/// A file that is there, and how to name it in an error.
pub(crate) struct OpenFile {
    option: &'static str,
    path: String,
    file: File,
}

impl JsonSink {
    /// Writes the result, in one form for programs and one for people.
    pub(crate) fn write(&mut self, result: &impl Serialize, table: &str) -> Result<(), Failure> {
        let json = serde_json::to_string_pretty(result).map_err(Failure::run)?;
        let mut stdout = io::stdout().lock();
        match self {
            Self::Json => writeln!(stdout, "{json}").map_err(Failure::run),
            Self::Table => writeln!(stdout, "{table}").map_err(Failure::run),
            Self::TableAndFile(file) => {
                writeln!(stdout, "{table}").map_err(Failure::run)?;
                file.write(&json)
            }
        }
    }
}

impl Sinks {
    /// Writes the results in every form that was asked for. `result` is what the
    /// JSON says.
    pub(crate) fn write(
        &mut self,
        result: &impl Serialize,
        results: &Results,
        table: &str,
    ) -> Result<(), Failure> {
        if let Some(file) = &mut self.csv {
            file.write(csv::of(results).map_err(Failure::run)?.trim_end())?;
        }
        if let Some(file) = &mut self.markdown {
            file.write(&markdown::of(results))?;
        }
        if let Some(file) = &mut self.html {
            file.write(&html::of(results))?;
        }
        self.json.write(result, table)
    }
}

impl OpenFile {
    fn create(option: &'static str, path: &str) -> Result<Self, Failure> {
        match File::create(path) {
            Ok(file) => Ok(Self { option, path: path.to_owned(), file }),
            Err(error) => Err(Failure::usage(format!("{option} {path}: {error}"))),
        }
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        writeln!(self.file, "{text}")
            .map_err(|error| Failure::run(format!("{} {}: {error}", self.option, self.path)))
    }
}
