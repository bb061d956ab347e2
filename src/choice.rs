//! Which backend runs, when it is chosen by name.
//!
//! Exactly one is compiled in: that one. Several: the name given in the program, or else the one in the
//! environment variable `COREPOOL_BACKEND`. Anything ambiguous or unknown is an error that lists what there is.

use std::env::VarError;

/// The environment variable that names the backend, for programs that leave it open.
pub const VARIABLE: &str = "COREPOOL_BACKEND";

/// A backend by name, and what to take if it cannot start on this machine.
///
/// The default leaves the name open.
///
/// ```
/// use corepool::Choice;
/// let choice = Choice::preferred("monoio").or("tokio");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    names: Vec<String>,
}

impl Choice {
    /// This backend, and no other.
    #[must_use]
    pub fn preferred(name: impl Into<String>) -> Self {
        Self { names: vec![name.into()] }
    }

    /// If those named so far cannot start on this machine, this one. It is logged, and visible in the stats.
    #[must_use]
    pub fn or(mut self, name: impl Into<String>) -> Self {
        self.names.push(name.into());
        self
    }

    /// The names to try, in order, out of those `compiled` in.
    pub(crate) fn settle(
        &self,
        variable: Result<String, VarError>,
        compiled: &[&'static str],
    ) -> Result<Vec<&'static str>, ChoiceError> {
        let list = || compiled.join(", ");
        let find = |name: &str, from: &'static str| {
            compiled.iter().find(|known| **known == name).copied().ok_or_else(|| ChoiceError::Unknown {
                name: name.into(),
                from,
                compiled: list(),
            })
        };
        if !self.names.is_empty() {
            return self.names.iter().map(|name| find(name, "the program")).collect();
        }
        match variable {
            Ok(name) => Ok(vec![find(&name, VARIABLE)?]),
            Err(VarError::NotUnicode(name)) => Err(ChoiceError::Unknown {
                name: name.to_string_lossy().into_owned(),
                from: VARIABLE,
                compiled: list(),
            }),
            Err(VarError::NotPresent) => match compiled {
                [] => Err(ChoiceError::NoneCompiled),
                [only] => Ok(vec![only]),
                _ => Err(ChoiceError::Ambiguous { compiled: list() }),
            },
        }
    }
}

impl From<&str> for Choice {
    fn from(name: &str) -> Self {
        Self::preferred(name)
    }
}

impl From<String> for Choice {
    fn from(name: String) -> Self {
        Self::preferred(name)
    }
}

/// No backend can be chosen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// Several are compiled in, and none was named.
    #[error("several backends are compiled in ({compiled}): name one in the program, or in {VARIABLE}")]
    Ambiguous {
        /// The names.
        compiled: String,
    },
    /// The name is not one of those compiled in.
    #[error("there is no backend {name:?}, named by {from}; compiled in: {compiled}")]
    Unknown {
        /// The name that was given.
        name: String,
        /// Who gave it.
        from: &'static str,
        /// The names that there are.
        compiled: String,
    },
    /// The program was built without any.
    #[error("no backend is compiled in: enable one of the features tokio, compio, monoio")]
    NoneCompiled,
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &[&str] = &["tokio", "compio", "monoio"];

    fn unset() -> Result<String, VarError> {
        Err(VarError::NotPresent)
    }

    #[test]
    fn the_only_one_needs_no_name() {
        assert_eq!(Choice::default().settle(unset(), &["monoio"]), Ok(vec!["monoio"]));
    }

    #[test]
    fn one_of_several_is_named_by_the_program_before_the_environment() {
        assert_eq!(Choice::default().settle(Ok("compio".into()), ALL), Ok(vec!["compio"]));
        assert_eq!(Choice::from("monoio").settle(Ok("compio".into()), ALL), Ok(vec!["monoio"]));
        let either = Choice::preferred("monoio").or("tokio");
        assert_eq!(either.settle(unset(), ALL), Ok(vec!["monoio", "tokio"]));
    }

    #[test]
    fn ambiguous_unknown_and_none_are_errors_that_list_what_there_is() {
        let ambiguous = Choice::default().settle(unset(), ALL).expect_err("ambiguous").to_string();
        assert!(ambiguous.contains("tokio, compio, monoio") && ambiguous.contains(VARIABLE));
        let unknown = Choice::from("glommio").settle(unset(), ALL).expect_err("unknown").to_string();
        assert!(unknown.contains("\"glommio\"") && unknown.contains("tokio, compio, monoio"));
        let fallback = Choice::preferred("tokio").or("tokyo").settle(unset(), ALL);
        assert!(matches!(fallback, Err(ChoiceError::Unknown { name, .. }) if name == "tokyo"));
        assert_eq!(Choice::default().settle(unset(), &[]), Err(ChoiceError::NoneCompiled));
        assert!(matches!(Choice::default().settle(Ok("x".into()), ALL), Err(ChoiceError::Unknown { .. })));
    }
}
