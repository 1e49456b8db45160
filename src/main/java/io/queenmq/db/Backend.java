package io.queenmq.db;

/**
 * The server process behind a connection; every connection of a broker has an application name of
 * its own, so that a reused pid is never mistaken for it.
 */
public record Backend(int pid, String applicationName) {}
