package io.queenmq.doctor;

import io.queenmq.db.DatabaseConfig;
import io.queenmq.db.Inspection;
import io.queenmq.runtime.Clock;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What every check may ask: the server by SQL, and what was read of it once. */
final class Server {
    private static final int VERSION_UNIT = 10_000;

    private final Inspection inspection;
    private final DatabaseConfig config;
    private final DoctorConfig bounds;
    private final Clock clock;
    private final Map<String, Setting> settings = new HashMap<>();
    private final Inspection.Row about;

    Server(Inspection inspection, DatabaseConfig config, DoctorConfig bounds, Clock clock) {
        this.inspection = inspection;
        this.config = config;
        this.bounds = bounds;
        this.clock = clock;
        for (Inspection.Row row :
                inspection.rows(
                        "select name, setting, unit, source, context,"
                                + " array_to_string(enumvals, ',') as choices from pg_settings")) {
            settings.put(
                    row.text("name"),
                    new Setting(
                            row.text("name"),
                            row.text("setting"),
                            row.text("unit"),
                            row.text("source"),
                            row.text("context"),
                            row.text("choices")));
        }
        this.about =
                inspection.row(
                        """
                        select current_setting('server_version') as version,
                               current_setting('server_version_num')::integer as number,
                               quote_ident(current_user) as role,
                               quote_ident(current_database()) as database,
                               -- Not to_regclass: it raises where the schema is closed to us.
                               exists (
                                   select
                                   from pg_class c
                                   join pg_namespace n on n.oid = c.relnamespace
                                   where n.nspname = 'queen_store' and c.relname = 'epochs'
                               ) as filled,
                               inet_server_addr() = inet_client_addr() as loopback
                        """);
    }

    DatabaseConfig config() {
        return config;
    }

    DoctorConfig bounds() {
        return bounds;
    }

    Clock clock() {
        return clock;
    }

    Inspection inspection() {
        return inspection;
    }

    List<Inspection.Row> rows(String sql, Object... arguments) {
        return inspection.rows(sql, arguments);
    }

    Inspection.Row row(String sql, Object... arguments) {
        return inspection.row(sql, arguments);
    }

    String version() {
        return about.text("version");
    }

    long major() {
        return about.number("number") / VERSION_UNIT;
    }

    /** The role, quoted where SQL wants it. */
    String role() {
        return about.text("role");
    }

    /** The database, likewise. */
    String database() {
        return about.text("database");
    }

    /** Whether a broker has made its tables. */
    boolean isFilled() {
        return about.is("filled");
    }

    /** Whether the connection does not leave the machine. */
    boolean isLoopback() {
        return about.is("loopback");
    }

    /** Empty = this version has none of that name, or does not show it to the role. */
    Optional<Setting> find(String name) {
        return Optional.ofNullable(settings.get(name));
    }

    /** One that every version has and shows. */
    Setting setting(String name) {
        return find(name).orElseThrow(() -> new IllegalStateException("no setting " + name));
    }

    /** How to give a setting another value. */
    String becomes(Setting setting, String wanted) {
        return setting.becomes(wanted, role(), database());
    }

    /** A time as people say it. */
    static String time(long seconds) {
        long minutes = seconds / 60;
        return minutes < 2
                ? seconds + " s"
                : minutes < 120 ? minutes + " min" : minutes / 60 + " h";
    }
}
