package io.queenmq.access;

/** Why a token is not taken: what its bearer is told, and under which reason it is counted. */
enum Refusal {
    MISSING("missing", "Authentication required"),
    MALFORMED("malformed", "Bad token header"),
    ALGORITHM("algorithm", "Unsupported token algorithm"),
    KEY("key", "Unknown key ID"),
    SIGNATURE("signature", "Invalid token signature"),
    CLAIMS("claims", "Invalid token claims"),
    ENDLESS("endless", "Token has no expiry"),
    EXPIRED("expired", "Token has expired"),
    EARLY("early", "Token not yet valid"),
    FUTURE("future", "Token issued in the future"),
    ISSUER("issuer", "Invalid token issuer"),
    AUDIENCE("audience", "Invalid token audience");

    private final String reason;
    private final String sentence;

    Refusal(String reason, String sentence) {
        this.reason = reason;
        this.sentence = sentence;
    }

    String reason() {
        return reason;
    }

    String sentence() {
        return sentence;
    }
}
