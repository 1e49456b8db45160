package io.queenmq.access;

/** What a key is: it verifies the algorithms of its kind and no others, whatever a token says. */
enum KeyKind {
    SECRET,
    RSA,
    P256,
    P384,
    ED25519
}
