//! The number at the head of a bulk string or an array, read byte by byte, as strictly as Redis reads it.

use super::Malformed;

/// A length line that is being read: an optional minus, digits without leading zeros, CR, LF.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Number {
    value: u64,
    digits: u8,
    negative: bool,
    ending: bool,
}

impl Number {
    /// Takes one byte; the number when it was the last.
    #[inline]
    pub(super) fn take(&mut self, byte: u8) -> Result<Option<i64>, Malformed> {
        match byte {
            b'0'..=b'9' if !self.ending => self.digit(byte - b'0').map(|()| None),
            b'\r' if !self.ending && self.digits > 0 => {
                self.ending = true;
                Ok(None)
            }
            b'\n' if self.ending => Ok(Some(self.signed())),
            b'-' if self.digits == 0 && !self.negative => {
                self.negative = true;
                Ok(None)
            }
            _ => Err(if self.ending { Malformed::LineEnd } else { Malformed::Length }),
        }
    }

    #[inline]
    fn digit(&mut self, digit: u8) -> Result<(), Malformed> {
        let leading_zero = self.digits > 0 && self.value == 0;
        let minus_zero = self.negative && self.digits == 0 && digit == 0;
        if leading_zero || minus_zero || self.digits == DIGITS_MAX {
            return Err(Malformed::Length);
        }
        self.value = self.value * 10 + u64::from(digit);
        self.digits += 1;
        Ok(())
    }

    fn signed(self) -> i64 {
        // Eighteen digits always fit.
        let value = i64::try_from(self.value).unwrap_or(i64::MAX);
        if self.negative { -value } else { value }
    }
}

/// More than any limit needs, and few enough to fit in an `i64`.
const DIGITS_MAX: u8 = 18;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<i64>, Malformed> {
        let mut number = Number::default();
        for byte in text.bytes() {
            if let Some(value) = number.take(byte)? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    #[test]
    fn numbers_are_read_as_redis_reads_them() {
        assert_eq!(read("0\r\n"), Ok(Some(0)));
        assert_eq!(read("-1\r\n"), Ok(Some(-1)));
        assert_eq!(read("999999999999999999\r\n"), Ok(Some(999_999_999_999_999_999)));
        assert_eq!(read("12\r"), Ok(None));
        for wrong in
            ["\r\n", "-\r\n", "-0\r\n", "01\r\n", "+1\r\n", " 1\r\n", "1 \r\n", "--1\r\n", "1\n", "1x", "1-"]
        {
            assert_eq!(read(wrong), Err(Malformed::Length), "{wrong:?}");
        }
        assert_eq!(read("1\r\r"), Err(Malformed::LineEnd));
        assert_eq!(read("1\r2"), Err(Malformed::LineEnd));
        assert_eq!(read("1000000000000000000\r\n"), Err(Malformed::Length));
    }
}
