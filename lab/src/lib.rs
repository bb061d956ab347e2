//! The lab of corepool: which of two servers costs less, and by how much, with
//! an honest interval.
//!
//! | module | what it owns |
//! |---|---|
//! | [`plan`], [`load`] | the options of a run, checked |
//! | [`workload`] | what the clients do, by name, with parameters |
//! | [`cores`], [`placement`] | who runs on which core |
//! | [`serve`] | the servers under test, by name or as a command, and the process that runs one |
//! | [`servers`] | starting such processes and ending them |
//! | [`generator`] | the clients: connections, requests, comparison of every byte |
//! | [`accounting`] | what a server and its clients use: CPU time, switches, memory, system calls |
//! | [`comparison`] | restarts, slices, rounds: the course of a run |
//! | [`figures`] | what is compared, with names and units |
//! | [`statistics`] | from pairs to intervals and verdicts; pure |
//! | [`calibration`] | whether all this can be trusted on this machine |
//! | [`cross_check`] | whether `wrk` sees the same rates |
//! | [`doctor`] | whether the machine is fit for it |
//! | [`environment`] | the machine and the software a result belongs to |
//! | [`experiment`] | plans as files, their rows, results that survive an interruption |
//! | [`regression`] | two results, an older and a newer: what got worse |
//! | [`report`] | JSON, CSV, Markdown, a page with plots, tables, progress |
//! | [`suite`] | plans that come with the lab |
//!
//! The binary parses arguments, calls one of these, and prints.
#![forbid(unsafe_code)]

pub mod accounting;
pub mod calibration;
pub mod comparison;
pub mod cores;
pub mod cross_check;
pub mod descriptors;
pub mod doctor;
pub mod environment;
pub mod experiment;
pub mod figures;
pub mod generator;
pub mod load;
pub mod placement;
pub mod plan;
pub mod regression;
pub mod report;
pub mod serve;
pub mod servers;
pub mod statistics;
pub mod suite;
pub mod workload;
