//! Conformance cases generic over a backend, a blocking std peer, and a simulated backend
