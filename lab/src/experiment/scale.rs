//! A study at the size of a smaller machine: workers, connections and rates in
//! proportion to the cores of the servers.

use super::{Experiment, PlannedRow, Varied};
use crate::plan::PlanOptions;
use crate::workload::Workload;

impl Experiment {
    /// The experiment for this many cores of the servers, if it says how many the
    /// study had and these are fewer; rows that come to the same are kept once.
    #[must_use]
    pub fn scaled_to(mut self, server_cores: usize) -> Self {
        let Some(study) = self.study_cores.filter(|&study| study > server_cores) else {
            return self;
        };
        let factor = server_cores as f64 / study as f64;
        let mut rows: Vec<PlannedRow> = Vec::new();
        for row in self.rows {
            let row = scaled(row, factor);
            if !rows.iter().any(|earlier| earlier.options == row.options) {
                rows.push(row);
            }
        }
        self.rows = rows;
        self
    }
}

fn scaled(mut row: PlannedRow, factor: f64) -> PlannedRow {
    let part = |count: usize| ((count as f64 * factor).round() as usize).max(1);
    let PlanOptions { workload, servers, .. } = &mut row.options;
    servers.workers = part(servers.workers);
    let usual = Workload::of(workload.name).connections;
    workload.connections = Some(part(workload.connections.unwrap_or(usual)));
    workload.rate = workload.rate.map(|rate| (rate * factor).round().max(1.0));
    let options = &row.options;
    for varied in &mut row.varied {
        show(varied, options);
    }
    row
}

/// The value of a parameter after scaling.
fn show(varied: &mut Varied, options: &PlanOptions) {
    let value = match varied.name.as_str() {
        "servers.workers" => Some(options.servers.workers.to_string()),
        "workload.connections" => options.workload.connections.map(|count| count.to_string()),
        "workload.rate" => options.workload.rate.map(|rate| rate.to_string()),
        _ => None,
    };
    value.into_iter().for_each(|value| varied.value = value);
}

#[cfg(test)]
mod tests {
    use super::super::file;

    const PLAN: &str = "title = \"\"\nsystems = [\"epoll\", \"epoll\"]\nstudy_cores = 12\n\
                        [workload]\nconnections = 600\nrate = 12000.0\n[sweep]\nservers.workers = [4, 8, 12]";

    fn labels(cores: usize) -> Vec<String> {
        let experiment = file::parse(PLAN).unwrap().scaled_to(cores);
        let label = |row: &super::PlannedRow| {
            let workload = &row.options.workload;
            format!("{}: {:?} at {:?}", row.label(), workload.connections.unwrap(), workload.rate.unwrap())
        };
        experiment.rows.iter().map(label).collect()
    }

    #[test]
    fn a_machine_like_that_of_the_study_runs_it_as_it_was() {
        let whole = ["workers 4: 600 at 12000.0", "workers 8: 600 at 12000.0", "workers 12: 600 at 12000.0"];
        assert_eq!(labels(12), whole);
        assert_eq!(labels(40), whole);
    }

    #[test]
    fn a_smaller_one_runs_it_in_proportion_and_nothing_twice() {
        let part = ["workers 2: 300 at 6000.0", "workers 4: 300 at 6000.0", "workers 6: 300 at 6000.0"];
        assert_eq!(labels(6), part);
        assert_eq!(labels(1), ["workers 1: 50 at 1000.0"]);
    }
}
