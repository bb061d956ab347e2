//! What a Redis sends, as the parser sees it.
#![forbid(unsafe_code)]

use redis_proxy::resp::{Limits, Malformed, Replies};

/// The ends of all replies in the stream, by their offset, when it comes in pieces of `size` bytes.
fn read(stream: &[u8], size: usize, limits: Limits) -> (Vec<usize>, Option<Malformed>) {
    let mut replies = Replies::new(limits);
    let (mut ends, mut before) = (Vec::new(), 0);
    for chunk in stream.chunks(size) {
        let mut at = 0;
        loop {
            match replies.next(chunk, at) {
                Ok(Some(reply)) => {
                    assert!(reply.end > at && reply.end <= chunk.len());
                    at = reply.end;
                    ends.push(before + at);
                }
                Ok(None) => break,
                Err(malformed) => return (ends, Some(malformed)),
            }
        }
        before += chunk.len();
    }
    (ends, None)
}

/// Each of these is one reply, alone and in company, however it is cut.
#[test]
fn every_type_ends_where_it_ends() {
    let values: &[&[u8]] = &[
        b"+OK\r\n",
        b"-ERR no\r\n",
        b"+\r\n",
        b":-12\r\n",
        b"$-1\r\n",
        b"$0\r\n\r\n",
        b"$7\r\na\r\n+b\r\n\r\n",
        b"*-1\r\n",
        b"*0\r\n",
        b"*2\r\n*0\r\n*1\r\n:1\r\n",
        b"_\r\n",
        b"#t\r\n",
        b",1.5e3\r\n",
        b"(123456789012345678901234567890\r\n",
        b"!3\r\nERR\r\n",
        b"=7\r\ntxt:abc\r\n",
        b"%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n",
        b"%0\r\n",
        b"~2\r\n:1\r\n:2\r\n",
        b">2\r\n+message\r\n$1\r\nx\r\n",
        b"|1\r\n+ttl\r\n:5\r\n$1\r\nx\r\n",
        b"|0\r\n+x\r\n",
        b"*2\r\n|1\r\n+ttl\r\n:5\r\n:1\r\n:2\r\n",
    ];
    let stream = values.concat();
    let ends: Vec<_> = values
        .iter()
        .scan(0, |end, value| {
            *end += value.len();
            Some(*end)
        })
        .collect();
    for size in 1..=stream.len() {
        assert_eq!(read(&stream, size, Limits::REPLIES), (ends.clone(), None), "pieces of {size}");
    }
}

#[test]
fn what_is_no_reply_says_why() {
    use Malformed::{Length, LineEnd, Type};
    let cases: &[(&[u8], Malformed)] = &[
        (b"HTTP/1.1 400", Type),
        (b"$?\r\n", Length),
        (b"$-2\r\n", Length),
        (b"*-2\r\n", Length),
        (b"+a\nb\r\n", LineEnd),
        (b"+a\rb", LineEnd),
        (b"$1\r\nab\r\n", LineEnd),
        (b"$1\r\na\rb", LineEnd),
    ];
    for (stream, malformed) in cases {
        for size in [1, 2, usize::MAX] {
            assert_eq!(read(stream, size, Limits::REPLIES), (vec![], Some(*malformed)));
        }
    }
}

#[test]
fn every_length_has_a_limit() {
    let limits = Limits { line_max: 4, bulk_max: 5, elements_max: 3, depth_max: 2, message_max: 30 };
    let fine: &[&[u8]] = &[
        b"+abcd\r\n",
        b"$5\r\n12345\r\n",
        b"*3\r\n:1\r\n:2\r\n:3\r\n",
        b"*1\r\n*1\r\n:1\r\n",
        b"%1\r\n:1\r\n:2\r\n",
    ];
    let too_big: &[&[u8]] = &[
        b"+abcde\r\n",
        b"$6\r\n",
        b"*4\r\n",
        b"%2\r\n",
        b"*1\r\n*1\r\n*1\r\n",
        b"*3\r\n$5\r\n12345\r\n$5\r\n12345\r\n$5\r\n12345\r\n",
    ];
    for size in [1, usize::MAX] {
        for stream in fine {
            assert_eq!(read(stream, size, limits), (vec![stream.len()], None));
        }
        for stream in too_big {
            assert!(matches!(read(stream, size, limits), (_, Some(Malformed::TooBig(_)))), "{stream:?}");
        }
    }
}

#[test]
fn nesting_without_an_end_is_refused() {
    let (ends, malformed) = read(&b"*1\r\n".repeat(1000), 7, Limits::REPLIES);
    assert_eq!((ends.len(), malformed), (0, Some(Malformed::TooBig(redis_proxy::resp::TooBig::Depth))));
}

#[test]
fn the_type_of_a_reply_is_told() {
    let mut replies = Replies::new(Limits::REPLIES);
    let kind = |stream: &[u8], replies: &mut Replies| replies.next(stream, 0).unwrap().unwrap().kind;
    assert_eq!(kind(b"-ERR x\r\n", &mut replies), b'-');
    assert_eq!(kind(b"|1\r\n+a\r\n+b\r\n*1\r\n:1\r\n", &mut replies), b'*');
    assert!(replies.is_between());
    assert!(replies.next(b"*1\r\n", 0).unwrap().is_none() && !replies.is_between());
}
