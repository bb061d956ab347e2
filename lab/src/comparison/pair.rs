//! Two slices that follow each other.

/// One slice of either side, A first in even pairs and B first in odd ones, so that
/// a machine that drifts favours neither.
///
/// # Errors
/// When a slice fails.
pub fn pair<T, E>(number: usize, mut slice: impl FnMut(usize) -> Result<T, E>) -> Result<[T; 2], E> {
    if number.is_multiple_of(2) {
        let first = slice(0)?;
        Ok([first, slice(1)?])
    } else {
        let second = slice(1)?;
        Ok([slice(0)?, second])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_follow_each_other_as_abba_and_each_has_its_place() {
        let mut order = Vec::new();
        for number in 0..2 {
            let sides = pair(number, |side| {
                order.push(side);
                Ok::<_, ()>(side)
            });
            assert_eq!(sides, Ok([0, 1]));
        }
        assert_eq!(order, [0, 1, 1, 0]);
    }
}
