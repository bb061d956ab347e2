//! Compio keeps the contract of the seam.

use std::process::ExitCode;

fn main() -> ExitCode {
    corepool_testkit::run::<corepool_compio::Compio>(&[])
}
