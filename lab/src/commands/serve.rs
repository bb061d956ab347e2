//! `serve`: one of the servers under test, in this process.

use corepool_lab::descriptors;
use corepool_lab::plan::check_serve;
use corepool_lab::serve::{ServeError, serve};

use super::Failure;
use crate::arguments::ServeArguments;

pub(crate) fn run_server(arguments: &ServeArguments) -> Result<(), Failure> {
    let options = arguments.options();
    check_serve(&options).map_err(Failure::usage)?;
    descriptors::raise();
    match serve(&arguments.name, &options) {
        // The workers still run; returning from `main` ends them.
        Ok(()) => Ok(()),
        Err(error @ ServeError::Unknown(_)) => Err(Failure::usage(error)),
        Err(error) => Err(Failure::run(error)),
    }
}
