package io.queenmq.doctor;

import io.queenmq.db.Inspection;
import java.util.List;

/** Whether what a client was told is stored is still there after a crash. */
final class DurabilityChecks {
    static final List<Check> ALL =
            List.of(
                    new Check("fsync", server -> mustBeOn(server, "fsync")),
                    new Check("full_page_writes", server -> mustBeOn(server, "full_page_writes")),
                    new Check("synchronous_commit", DurabilityChecks::synchronousCommit),
                    new Check("synchronous_standbys", DurabilityChecks::standbys),
                    new Check("data_checksums", DurabilityChecks::checksums));

    private DurabilityChecks() {}

    private static Verdict mustBeOn(Server server, String name) {
        Setting setting = server.setting(name);
        return setting.isOn()
                ? Verdict.ok("on")
                : Verdict.fail(
                        "off: a crash of the machine may destroy everything that is stored",
                        server.becomes(setting, "on"));
    }

    private static Verdict synchronousCommit(Server server) {
        Setting setting = server.setting("synchronous_commit");
        boolean hasStandbys = !server.setting("synchronous_standby_names").value().isEmpty();
        return switch (setting.value()) {
            case "off" ->
                    Verdict.fail(
                            "off: what was acknowledged last is lost in a crash",
                            server.becomes(setting, "on"));
            case "local", "remote_write" ->
                    hasStandbys
                            ? Verdict.warn(
                                    setting.value()
                                            + ": what was acknowledged last is lost when a standby"
                                            + " takes over",
                                    server.becomes(setting, "on"))
                            : Verdict.ok(setting.value() + ", and there is no standby to wait for");
            default -> Verdict.ok(setting.value());
        };
    }

    private static Verdict standbys(Server server) {
        Setting names = server.setting("synchronous_standby_names");
        if (names.value().isEmpty()) {
            return Verdict.ok("none are asked for: the newest commits are on one machine");
        }
        Inspection.Row row =
                server.row(
                        "select count(*) filter (where sync_state in ('sync', 'quorum')) as here from"
                                + " pg_stat_replication");
        return row.number("here") > 0
                ? Verdict.ok("%d of %s".formatted(row.number("here"), names.value()))
                : Verdict.fail(
                        "none of %s is seen: every commit waits for one".formatted(names.value()),
                        "bring a standby back, or " + server.becomes(names, ""));
    }

    private static Verdict checksums(Server server) {
        return server.setting("data_checksums").isOn()
                ? Verdict.ok("on")
                : Verdict.warn(
                        "off: what a disk falsifies goes unnoticed",
                        "stop the server, then pg_checksums --enable");
    }
}
