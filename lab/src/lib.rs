//! The load generator and the A/B runner of corepool
