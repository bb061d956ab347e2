//! What must hold of any stream: how it is cut changes nothing, what is written is what is read, and arbitrary
//! bytes neither panic nor pass a limit.
#![forbid(unsafe_code)]

use proptest::collection::vec;
use proptest::prelude::*;
use redis_proxy::command::{Command, Commands};
use redis_proxy::resp::{Event, Limits, Malformed, Replies, Requests};

const SMALL: Limits =
    Limits { line_max: 64, bulk_max: 200, elements_max: 16, depth_max: 4, message_max: 500 };

/// A stream as pieces of the given lengths, repeated to its end.
fn pieces<'a>(mut stream: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut found = Vec::new();
    for cut in cuts.iter().cycle() {
        if stream.is_empty() {
            break;
        }
        let (piece, rest) = stream.split_at((*cut).min(stream.len()));
        found.push(piece);
        stream = rest;
    }
    found
}

/// Where commands end and what they are, by offsets into the whole stream.
fn commands(pieces: &[&[u8]]) -> (Vec<Command>, Option<Malformed>) {
    let (mut parser, mut found, mut before) = (Commands::new(SMALL), Vec::new(), 0);
    for chunk in pieces {
        let mut at = 0;
        loop {
            match parser.next(chunk, &mut at) {
                Ok(Some(command)) => found.push(Command { end: before + command.end, ..command }),
                Ok(None) => break,
                Err(malformed) => return (found, Some(malformed)),
            }
        }
        before += chunk.len();
    }
    (found, None)
}

fn replies(pieces: &[&[u8]]) -> (Vec<(usize, u8)>, Option<Malformed>) {
    let (mut parser, mut found, mut before) = (Replies::new(SMALL), Vec::new(), 0);
    for chunk in pieces {
        let mut at = 0;
        loop {
            match parser.next(chunk, at) {
                Ok(Some(reply)) => {
                    at = reply.end;
                    found.push((before + at, reply.kind));
                }
                Ok(None) => break,
                Err(malformed) => return (found, Some(malformed)),
            }
        }
        before += chunk.len();
    }
    (found, None)
}

/// The arguments of all requests, put together from their parts.
fn arguments(pieces: &[&[u8]]) -> Vec<Vec<Vec<u8>>> {
    let (mut parser, mut found, mut request) = (Requests::new(SMALL), Vec::new(), vec![Vec::new()]);
    for chunk in pieces {
        let mut at = 0;
        while let Some(event) = parser.next(chunk, &mut at).expect("a well-formed request") {
            match event {
                Event::Part { argument, range, last } => {
                    assert_eq!(argument as usize + 1, request.len());
                    request[argument as usize].extend_from_slice(&chunk[range]);
                    request.extend(last.then(Vec::new));
                }
                Event::Inline { .. } => panic!("no inline command was written"),
                Event::End(_) => {
                    request.pop();
                    found.push(std::mem::replace(&mut request, vec![Vec::new()]));
                }
            }
        }
    }
    assert!(parser.is_between());
    found
}

fn encode(request: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", request.len()).into_bytes();
    for argument in request {
        bytes.extend(format!("${}\r\n", argument.len()).bytes());
        bytes.extend(argument);
        bytes.extend(b"\r\n");
    }
    bytes
}

fn request() -> impl Strategy<Value = Vec<Vec<u8>>> {
    vec(vec(any::<u8>(), 0..20), 1..8)
}

/// Bytes that often look like RESP.
fn resp_like() -> impl Strategy<Value = Vec<u8>> {
    let token = prop::sample::select(vec![
        "*1\r\n",
        "*2\r\n",
        "*-1\r\n",
        "*0\r\n",
        "$4\r\n",
        "$0\r\n\r\n",
        "$-1\r\n",
        "PING",
        "\r\n",
        "\r",
        "\n",
        "SUBSCRIBE ",
        "$9\r\nsubscribe\r\n",
        "$4\r\nPING\r\n",
        "+OK\r\n",
        ":1\r\n",
        "%1\r\n",
        "|1\r\n",
        ">2\r\n",
        "-ERR\r\n",
        "~1\r\n",
        "*99\r\n",
        "$999\r\n",
        "\"",
        "'",
        "\\",
        "get ",
        "_\r\n",
        "#t\r\n",
        "=5\r\ntxt:x\r\n",
    ]);
    let part = prop_oneof![
        6 => token.prop_map(|text| text.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 1..4),
    ];
    vec(part, 0..30).prop_map(|parts| parts.concat())
}

/// What a reply may be made of: its bytes, nested.
fn value() -> impl Strategy<Value = Vec<u8>> {
    let leaf = prop_oneof![
        "[a-z ]{0,10}".prop_map(|text| format!("+{text}\r\n").into_bytes()),
        any::<i32>().prop_map(|number| format!(":{number}\r\n").into_bytes()),
        vec(any::<u8>(), 0..20)
            .prop_map(|bytes| { [format!("${}\r\n", bytes.len()).as_bytes(), &bytes, b"\r\n"].concat() }),
        Just(b"$-1\r\n".to_vec()),
        Just(b"_\r\n".to_vec()),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let list = vec(inner.clone(), 0..4)
            .prop_map(|items| [format!("*{}\r\n", items.len()).as_bytes(), &items.concat()].concat());
        let map = vec(inner, 0..3).prop_map(|items| {
            let pairs: Vec<u8> = items.iter().flat_map(|item| [b":1\r\n", &item[..]].concat()).collect();
            [format!("%{}\r\n", items.len()).as_bytes(), &pairs].concat()
        });
        prop_oneof![list, map]
    })
}

fn cuts() -> impl Strategy<Value = Vec<usize>> {
    vec(1..12_usize, 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn requests_are_read_as_they_were_written(requests in vec(request(), 1..6), cuts in cuts()) {
        let stream: Vec<u8> = requests.iter().flat_map(|request| encode(request)).collect();
        prop_assert_eq!(arguments(&pieces(&stream, &cuts)), requests);
    }

    #[test]
    fn replies_end_where_they_were_ended(values in vec(value(), 1..6), cuts in cuts()) {
        let stream = values.concat();
        let (found, malformed) = replies(&pieces(&stream, &cuts));
        let limits = values.iter().all(|value| value.len() <= SMALL.message_max as usize);
        if malformed.is_none() {
            let mut end = 0;
            let ends: Vec<_> = values.iter().map(|value| { end += value.len(); (end, value[0]) }).collect();
            prop_assert_eq!(found, ends);
        } else {
            prop_assert!(matches!(malformed, Some(Malformed::TooBig(_))) && !limits, "{:?}", malformed);
        }
    }

    #[test]
    fn how_a_stream_is_cut_changes_nothing(stream in resp_like(), cuts in cuts()) {
        let cut = pieces(&stream, &cuts);
        prop_assert_eq!(commands(&cut), commands(&[&stream]));
        prop_assert_eq!(replies(&cut), replies(&[&stream]));
    }

    #[test]
    fn arbitrary_bytes_stay_within_the_limits(stream in vec(any::<u8>(), 0..400), cuts in cuts()) {
        let cut = pieces(&stream, &cuts);
        let (commands, _) = commands(&cut);
        let mut before = 0;
        for command in commands {
            prop_assert!(command.end > before && command.end - before <= SMALL.message_max as usize);
            before = command.end;
        }
        let _ = replies(&cut);
    }
}
