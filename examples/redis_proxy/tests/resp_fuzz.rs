//! A fuzz loop over both parsers: well-formed streams are damaged, cut at random, and read in two ways.
//!
//! A failure prints its seed. `RESP_FUZZ_SEED=12345` replays that one; `RESP_FUZZ_ROUNDS=10000000` runs for longer.
#![forbid(unsafe_code)]

use std::env;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use fastrand::Rng;
use redis_proxy::command::Commands;
use redis_proxy::resp::{Limits, Malformed, Replies};

const LIMITS: Limits =
    Limits { line_max: 200, bulk_max: 1000, elements_max: 64, depth_max: 6, message_max: 3000 };

#[test]
fn damaged_streams_are_read_alike_however_they_are_cut() {
    if let Ok(seed) = env::var("RESP_FUZZ_SEED") {
        return round(seed.parse().expect("RESP_FUZZ_SEED is a number"));
    }
    let rounds = env::var("RESP_FUZZ_ROUNDS")
        .map_or(20_000, |text| text.parse().expect("RESP_FUZZ_ROUNDS is a number"));
    let first = fastrand::u64(..);
    for seed in (0..rounds).map(|offset| first.wrapping_add(offset)) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| round(seed))) {
            eprintln!("failed; replay it with RESP_FUZZ_SEED={seed}");
            resume_unwind(panic);
        }
    }
}

fn round(seed: u64) {
    let mut random = Rng::with_seed(seed);
    let mut stream = Vec::new();
    for _ in 0..random.usize(1..8) {
        if random.bool() { request(&mut stream, &mut random) } else { value(&mut stream, &mut random, 0) }
    }
    for _ in 0..random.usize(..4) {
        damage(&mut stream, &mut random);
    }
    let cut = cut(&stream, &mut random);
    assert_eq!(commands(&cut), commands(&[&stream]));
    assert_eq!(replies(&cut), replies(&[&stream]));
}

fn request(stream: &mut Vec<u8>, random: &mut Rng) {
    let names = ["GET", "set", "SUBSCRIBE", "xread", "block", "QUIT", "multi", "", "averylongcommandname"];
    if random.u8(..4) == 0 {
        stream.extend(format!("{} x \"y z\"\r\n", names[random.usize(..names.len())]).bytes());
        return;
    }
    let count = random.usize(1..6);
    stream.extend(format!("*{count}\r\n").bytes());
    for _ in 0..count {
        let word = names[random.usize(..names.len())];
        stream.extend(format!("${}\r\n{word}\r\n", word.len()).bytes());
    }
}

fn value(stream: &mut Vec<u8>, random: &mut Rng, depth: usize) {
    let count = random.usize(..4);
    let head = match random.u8(..if depth < 5 { 9 } else { 6 }) {
        0 => "+OK\r\n".to_owned(),
        1 => "-ERR x\r\n".to_owned(),
        2 => ":42\r\n".to_owned(),
        3 => "$-1\r\n".to_owned(),
        4 => format!("${count}\r\n{}\r\n", "x".repeat(count)),
        5 => ",1.5\r\n".to_owned(),
        6 => format!("*{count}\r\n"),
        7 => format!("%{count}\r\n"),
        _ => format!("|{count}\r\n"),
    };
    stream.extend(head.bytes());
    let inner = match head.as_bytes()[0] {
        b'*' => count,
        b'%' => 2 * count,
        b'|' => 2 * count + 1,
        _ => 0,
    };
    (0..inner).for_each(|_| value(stream, random, depth + 1));
}

fn damage(stream: &mut Vec<u8>, random: &mut Rng) {
    if stream.is_empty() {
        return;
    }
    let place = random.usize(..stream.len());
    match random.u8(..5) {
        0 => stream[place] = random.u8(..),
        1 => stream[place] = b"*$+\r\n019\"'\\-|%"[random.usize(..14)],
        2 => drop(stream.remove(place)),
        3 => stream.truncate(place),
        _ => stream.insert(place, random.u8(..)),
    }
}

fn cut<'a>(mut stream: &'a [u8], random: &mut Rng) -> Vec<&'a [u8]> {
    let longest = [1, 3, 20, 200][random.usize(..4)];
    let mut pieces = Vec::new();
    while !stream.is_empty() {
        let (piece, rest) = stream.split_at(random.usize(1..=longest.min(stream.len())));
        pieces.push(piece);
        stream = rest;
    }
    pieces
}

/// All that the parsers say, as text: easy to compare, and to read when it differs.
fn commands(pieces: &[&[u8]]) -> String {
    let mut parser = Commands::new(LIMITS);
    drive(pieces, |chunk, at| {
        let command = parser.next(chunk, at)?;
        Ok(command.map(|command| format!("{:?}", command.kind)))
    })
}

fn replies(pieces: &[&[u8]]) -> String {
    let mut parser = Replies::new(LIMITS);
    drive(pieces, |chunk, at| {
        let reply = parser.next(chunk, *at)?;
        *at = reply.map_or(chunk.len(), |reply| reply.end);
        Ok(reply.map(|reply| char::from(reply.kind).to_string()))
    })
}

fn drive(
    pieces: &[&[u8]],
    mut next: impl FnMut(&[u8], &mut usize) -> Result<Option<String>, Malformed>,
) -> String {
    let (mut said, mut before) = (String::new(), 0);
    for chunk in pieces {
        let mut at = 0;
        loop {
            let start = at;
            match next(chunk, &mut at) {
                Ok(Some(what)) => {
                    assert!(at <= chunk.len() && (at > start || before > 0), "no progress");
                    let _ = write!(said, "{what} to {}; ", before + at);
                }
                Ok(None) => break,
                Err(malformed) => return said + &malformed.to_string(),
            }
        }
        assert_eq!(at, chunk.len(), "bytes are left");
        before += chunk.len();
    }
    said
}
