//! From a table of lists to all combinations of their values.

use toml::{Table, Value};

use super::Varied;

/// One value for each parameter that varies, by its place in the plan.
pub(super) type Point = Vec<(Vec<String>, Value)>;

/// Every combination of the values in a table whose leaves are lists; the first
/// parameter varies slowest. One empty point if there is none.
///
/// # Errors
/// The name of a leaf that is no list, or an empty one.
pub(super) fn points(sweep: &Table) -> Result<Vec<Point>, String> {
    let mut points = vec![Point::new()];
    for (path, value) in leaves(sweep) {
        let values = match value {
            Value::Array(values) if !values.is_empty() => values,
            _ => return Err(path.join(".")),
        };
        let with = |point: Point| {
            let path = path.clone();
            values.iter().map(move |value| {
                let mut point = point.clone();
                point.push((path.clone(), value.clone()));
                point
            })
        };
        points = points.into_iter().flat_map(with).collect();
    }
    Ok(points)
}

/// The values of a table and of those inside of it, as a point.
pub(super) fn point(table: &Table) -> Point {
    leaves(table).into_iter().map(|(path, value)| (path, value.clone())).collect()
}

/// The table with the values of the point in their places.
pub(super) fn with(mut table: Table, point: &Point) -> Table {
    for (path, value) in point {
        set(&mut table, path, value.clone());
    }
    table
}

/// How the parameters of a point are shown.
pub(super) fn varied(point: &Point) -> Vec<Varied> {
    let shown = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    point.iter().map(|(path, value)| Varied { name: path.join("."), value: shown(value) }).collect()
}

fn leaves(table: &Table) -> Vec<(Vec<String>, &Value)> {
    let mut found = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) => {
                let below = leaves(inner).into_iter();
                found.extend(below.map(|(path, value)| ([vec![key.clone()], path].concat(), value)));
            }
            _ => found.push((vec![key.clone()], value)),
        }
    }
    found
}

fn set(table: &mut Table, path: &[String], value: Value) {
    match path {
        [] => {}
        [key] => drop(table.insert(key.clone(), value)),
        [key, rest @ ..] => {
            let inner = table.entry(key.clone()).or_insert_with(|| Value::Table(Table::new()));
            if !inner.is_table() {
                *inner = Value::Table(Table::new());
            }
            inner.as_table_mut().into_iter().for_each(|inner| set(inner, rest, value.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        text.parse().unwrap()
    }

    #[test]
    fn every_combination_comes_once_and_the_first_varies_slowest() {
        let points = points(&table("workload.bytes = [1, 2]\nservers.workers = [1, 2, 3]")).unwrap();
        let labels: Vec<_> = points.iter().map(|point| super::super::label(&varied(point))).collect();
        assert_eq!(
            labels,
            [
                "bytes 1, workers 1",
                "bytes 1, workers 2",
                "bytes 1, workers 3",
                "bytes 2, workers 1",
                "bytes 2, workers 2",
                "bytes 2, workers 3"
            ]
        );
    }

    #[test]
    fn nothing_to_vary_is_one_row() {
        assert_eq!(points(&Table::new()).unwrap(), [Point::new()]);
    }

    #[test]
    fn what_is_no_list_is_named() {
        assert_eq!(points(&table("servers.workers = 2")).unwrap_err(), "servers.workers");
        assert_eq!(points(&table("workload.bytes = []")).unwrap_err(), "workload.bytes");
    }

    #[test]
    fn a_value_is_put_beside_what_is_there() {
        let base = table("[servers]\nworkers = 1\nlimit = 5");
        let changed = with(base, &point(&table("servers.workers = 4\nworkload.name = \"churn\"")));
        assert_eq!(changed, table("[servers]\nworkers = 4\nlimit = 5\n[workload]\nname = \"churn\""));
    }
}
