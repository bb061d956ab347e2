//! Checks of what a user has set: an error names the field, the value and the range.

use std::time::Duration;

use crate::error::StartError;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A number within bounds, both included.
pub(crate) fn within(field: &'static str, value: u32, least: u32, most: u32) -> Result<(), StartError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(StartError::Config {
        field,
        value: value.to_string(),
        allowed: format!("{least} to {most} are allowed"),
    })
}

/// A time of at most a day, possibly none.
pub(crate) fn within_a_day(field: &'static str, value: Duration) -> Result<(), StartError> {
    if value <= DAY {
        return Ok(());
    }
    Err(StartError::Config { field, value: format!("{value:?}"), allowed: "at most a day is allowed".into() })
}

/// A time that a look over the connections can tell.
pub(crate) fn deadline_within(field: &'static str, value: Duration) -> Result<(), StartError> {
    if (Duration::from_millis(10)..=DAY * 366).contains(&value) {
        return Ok(());
    }
    let allowed = "10 ms to a year are allowed".into();
    Err(StartError::Config { field, value: format!("{value:?}"), allowed })
}
