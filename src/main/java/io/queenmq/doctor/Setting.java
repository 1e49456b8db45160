package io.queenmq.doctor;

import java.util.Locale;

/**
 * A setting of the server, as it holds for a session of the role.
 *
 * @param value in the unit of the server
 * @param unit of the value; empty = it has none
 * @param source where the value comes from
 * @param context when it can be changed
 * @param choices the values it may have, separated by commas; empty = it has no list
 */
record Setting(
        String name, String value, String unit, String source, String context, String choices) {

    boolean isOn() {
        return value.equals("on");
    }

    long number() {
        return Long.parseLong(value);
    }

    /** Of a setting of memory. */
    long bytes() {
        return number() * bytesPerUnit();
    }

    private long bytesPerUnit() {
        return switch (unit) {
            case "B" -> 1;
            case "kB" -> 1L << 10;
            case "8kB" -> 8L << 10;
            case "MB" -> 1L << 20;
            default -> throw new IllegalStateException(name + " has the unit " + unit);
        };
    }

    /** Of a setting of time. */
    long millis() {
        return number()
                * switch (unit) {
                    case "ms" -> 1;
                    case "s" -> 1_000;
                    case "min" -> 60_000;
                    default -> throw new IllegalStateException(name + " has the unit " + unit);
                };
    }

    boolean allows(String choice) {
        return (',' + choices + ',').contains(',' + choice + ',');
    }

    /** The statements, or the act, that give it another value where this one was given. */
    String becomes(String wanted, String role, String database) {
        return switch (source) {
            case "user" -> "alter role %s reset %s".formatted(role, name);
            case "database" -> "alter database %s reset %s".formatted(database, name);
            case "database user" ->
                    "alter role %s in database %s reset %s".formatted(role, database, name);
            case "command line", "environment variable" ->
                    "start the server with %s = %s: its %s says otherwise"
                            .formatted(name, wanted, source.toLowerCase(Locale.ROOT));
            default ->
                    "alter system set %s = '%s'; %s"
                            .formatted(
                                    name,
                                    wanted,
                                    context.equals("postmaster")
                                            ? "then restart the server"
                                            : "select pg_reload_conf()");
        };
    }
}
