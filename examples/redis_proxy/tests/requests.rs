//! What clients send, as the parser and the table of commands see it.
#![forbid(unsafe_code)]

use redis_proxy::command::{Commands, Kind};
use redis_proxy::resp::{Limits, Malformed, request};

/// All commands of a stream that comes in pieces of `size` bytes, and what is wrong with the rest.
fn read(stream: &[u8], size: usize, limits: Limits) -> (Vec<Kind>, Option<Malformed>) {
    let mut commands = Commands::new(limits);
    let mut kinds = Vec::new();
    for chunk in stream.chunks(size) {
        let mut at = 0;
        loop {
            match commands.next(chunk, &mut at) {
                Ok(Some(command)) => {
                    assert!(command.end <= chunk.len() && command.end == at);
                    kinds.push(command.kind);
                }
                Ok(None) => break,
                Err(malformed) => return (kinds, Some(malformed)),
            }
        }
        assert_eq!(at, chunk.len());
    }
    (kinds, None)
}

/// The same, however it is cut.
fn kinds(stream: &[u8]) -> Vec<Kind> {
    let (whole, malformed) = read(stream, usize::MAX, Limits::REQUESTS);
    assert_eq!(malformed, None, "{}", String::from_utf8_lossy(stream));
    for size in 1..=stream.len() {
        assert_eq!(read(stream, size, Limits::REQUESTS), (whole.clone(), None), "pieces of {size}");
    }
    whole
}

fn fault(stream: &[u8]) -> Malformed {
    let (_, malformed) = read(stream, usize::MAX, Limits::REQUESTS);
    for size in 1..=stream.len() {
        assert_eq!(read(stream, size, Limits::REQUESTS).1, malformed, "pieces of {size}");
    }
    malformed.unwrap_or_else(|| panic!("{} is taken", String::from_utf8_lossy(stream)))
}

/// A command as clients write it.
fn array(words: &[&str]) -> Vec<u8> {
    let mut text = format!("*{}\r\n", words.len());
    words.iter().for_each(|word| text += &format!("${}\r\n{word}\r\n", word.len()));
    text.into_bytes()
}

#[test]
fn arrays_and_inline_commands_may_follow_each_other() {
    let stream =
        [array(&["SET", "key", "*1\r\n$4\r\nQUIT\r\n"]), b"PING\r\n get  x\n".to_vec(), array(&[""])]
            .concat();
    assert_eq!(kinds(&stream), [Kind::Plain; 4]);
}

#[test]
fn what_redis_does_not_answer_is_nothing() {
    assert_eq!(kinds(b"\r\n\n  \t\r\n*0\r\n*-1\r\n*-9\r\n"), [Kind::Nothing; 6]);
}

#[test]
fn commands_that_bind_are_known_in_any_case_and_any_form() {
    for name in [
        "SUBSCRIBE",
        "multi",
        "Watch",
        "BLPOP",
        "select",
        "AUTH",
        "hello",
        "CLIENT",
        "waitaof",
        "PUNSUBSCRIBE",
    ] {
        assert_eq!(kinds(&array(&[name, "x"])), [Kind::Binding], "{name}");
        assert_eq!(kinds(format!(" {name}\tx\r\n").as_bytes()), [Kind::Binding], "{name}");
        assert_eq!(kinds(format!("{name}\r\n").as_bytes()), [Kind::Binding], "{name}");
    }
    for name in
        ["GET", "MULTIX", "XMULTI", "MULT", "PING", "EVAL", "SUBSCRIBED", "A", "\0", "punsubscribee", "é"]
    {
        assert_eq!(kinds(&array(&[name, "x"])), [Kind::Plain], "{name}");
    }
}

#[test]
fn some_commands_bind_only_with_an_argument() {
    assert_eq!(kinds(&array(&["XREAD", "COUNT", "2", "STREAMS", "s", "0"])), [Kind::Plain]);
    assert_eq!(kinds(&array(&["XREAD", "bLock", "0", "STREAMS", "s", "0"])), [Kind::Binding]);
    let group = array(&["XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "STREAMS", "s", ">"]);
    assert_eq!(kinds(&[group, array(&["GET", "BLOCK"])].concat()), [Kind::Binding, Kind::Plain]);
    assert_eq!(kinds(b"xread count 1 streams s 0\r\nget x\r\n"), [Kind::Binding, Kind::Plain]);
    assert_eq!(kinds(&array(&["SCRIPT", "LOAD", "return 1"])), [Kind::Plain]);
    assert_eq!(kinds(&array(&["SCRIPT", "DEBUG", "YES"])), [Kind::Binding]);
}

#[test]
fn an_inline_command_with_quotes_could_be_anything() {
    for line in
        [&b"\"multi\"\r\n"[..], b"\"\\x6dulti\"\r\n", b"mul\"ti\"\r\n", b"'MULTI'\n", b"get \"a b\"\r\n"]
    {
        assert_eq!(kinds(line), [Kind::Binding], "{}", String::from_utf8_lossy(line));
    }
}

#[test]
fn what_ends_a_connection_is_told_apart() {
    let stream =
        [array(&["QUIT"]), b"quit\r\n".to_vec(), b"POST / HTTP/1.1\r\nHost: x\r\n".to_vec()].concat();
    assert_eq!(kinds(&stream), [Kind::Quit, Kind::Quit, Kind::Forbidden, Kind::Forbidden]);
}

#[test]
fn malformed_requests_say_what_is_wrong() {
    use Malformed::{Argument, Length, LineEnd, Quotes, Zero};
    let cases: &[(&[u8], Malformed)] = &[
        (b"*1\r\n+PING\r\n", Argument),
        (b"*1\r\n*1\r\n", Argument),
        (b"*x\r\n", Length),
        (b"*01\r\n", Length),
        (b"*1\r\n$-1\r\n", Length),
        (b"*1\r\n$4\nPING\r\n", Length),
        (b"*1\r\n$4\r\nPINGxx", LineEnd),
        (b"*1\r\n$4\r\nPING\rx", LineEnd),
        (b"*1\rx", LineEnd),
        (b"get \"x\r\n", Quotes),
        (b"get 'x\\\\'\r\n", Quotes),
        (b"get 'x'y\r\n", Quotes),
        (b"get \"\\\"\r\n", Quotes),
        (b"PI\0NG\r\n", Zero),
    ];
    for (stream, malformed) in cases {
        assert_eq!(fault(stream), *malformed, "{}", String::from_utf8_lossy(stream));
    }
}

#[test]
fn every_length_has_a_limit() {
    let limits = Limits { line_max: 8, bulk_max: 10, elements_max: 3, depth_max: 1, message_max: 40 };
    let fine: &[&[u8]] = &[
        b"12345678\n",
        b"1234567\r\n",
        b"*1\r\n$10\r\n1234567890\r\n",
        b"*3\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n",
    ];
    let too_big: &[&[u8]] = &[
        b"123456789",
        b"*1\r\n$11\r\n",
        b"*4\r\n",
        b"*3\r\n$9\r\n123456789\r\n$9\r\n123456789\r\n$9\r\n123456789\r\n",
    ];
    for stream in fine {
        assert_eq!(read(stream, 1, limits).1, None);
        assert_eq!(read(&stream.repeat(5), usize::MAX, limits), (vec![Kind::Plain; 5], None));
    }
    for stream in too_big {
        for size in [1, usize::MAX] {
            assert!(
                matches!(read(stream, size, limits), (kinds, Some(Malformed::TooBig(_))) if kinds.is_empty())
            );
        }
    }
}

#[test]
fn commands_in_front_of_the_fault_are_good() {
    let stream = [array(&["GET", "a"]), array(&["GET", "b"]), b"*1\r\n!".to_vec()].concat();
    assert_eq!(
        read(&stream, usize::MAX, Limits::REQUESTS),
        (vec![Kind::Plain; 2], Some(Malformed::Argument))
    );
}

#[test]
fn the_default_limits_are_those_of_redis() {
    let Limits { line_max, bulk_max, elements_max, .. } = Limits::REQUESTS;
    assert_eq!((line_max, bulk_max, elements_max), (65_536, 536_870_912, 1_048_576));
    let mut requests = request::Requests::new(Limits::REQUESTS);
    assert!(requests.next(b"*1048576\r\n$536870912\r\n", &mut 0).is_ok());
}
