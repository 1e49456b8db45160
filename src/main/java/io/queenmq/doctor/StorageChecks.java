package io.queenmq.doctor;

import io.queenmq.db.Inspection;
import java.util.List;
import java.util.Optional;

/** How the log is stored, and whether what has expired leaves. */
final class StorageChecks {
    static final List<Check> ALL =
            List.of(
                    new Check("compression", StorageChecks::compression),
                    new Check("epochs", StorageChecks::epochs),
                    new Check("jobs", StorageChecks::jobs));

    private StorageChecks() {}

    private static Verdict compression(Server server) {
        boolean lz4 = server.setting("default_toast_compression").allows("lz4");
        if (!server.isFilled()) {
            return lz4
                    ? Verdict.ok("this server has lz4: payloads will be stored with it")
                    : without();
        }
        Inspection.Row row =
                server.row(
                        """
                        select string_agg(distinct
                                   case when a.attstorage in ('e', 'p') then 'none'
                                        when a.attcompression = 'l' then 'lz4'
                                        when a.attcompression = 'p' then 'pglz'
                                        else current_setting('default_toast_compression') end,
                                   ', ') as used,
                               string_agg(format(
                                   'alter table %s alter column frames set storage extended,'
                                   ' alter column frames set compression lz4', i.inhrelid::regclass),
                                   '; ' order by i.inhrelid)
                                   filter (where e.state in ('open', 'built')
                                       and (a.attstorage in ('e', 'p')
                                           or a.attcompression is distinct from 'l')) as cure
                        from pg_inherits i
                        join pg_attribute a on a.attrelid = i.inhrelid and a.attname = 'frames'
                        left join queen_store.epochs e
                            on to_regclass(format('queen_store.segments_%s', e.epoch)) = i.inhrelid
                        where i.inhparent = 'queen_store.segments'::regclass
                        """);
        return compression(lz4, row.text("used"), row.find("cure"));
    }

    /**
     * @param lz4 whether the server has it
     * @param cure statements that let new payloads be stored with it; empty = they are
     */
    static Verdict compression(boolean lz4, String used, Optional<String> cure) {
        if (lz4 && cure.isPresent()) {
            return Verdict.warn(
                    used + ": this server has lz4, and new payloads are stored without it",
                    cure.get());
        }
        return lz4 || !used.equals("none") ? Verdict.ok(used) : without();
    }

    private static Verdict without() {
        return Verdict.hint(
                "none: this server was built without lz4",
                "where bytes are scarce, a server with it (every distribution's packages)");
    }

    private static Verdict epochs(Server server) {
        if (!server.isFilled()) {
            return Verdict.ok("none yet");
        }
        List<Inspection.Row> waiting =
                server.rows(
                        "select epoch, state, waits_for from queen.epochs where waits_for is not null"
                                + " order by epoch limit 1");
        if (!waiting.isEmpty()) {
            Inspection.Row row = waiting.getFirst();
            return Verdict.warn(
                    "epoch %d, %s, waits for %s"
                            .formatted(
                                    row.number("epoch"), row.text("state"), row.text("waits_for")),
                    "end that transaction: docs/operations/space.md");
        }
        return Verdict.ok(
                server.row("select count(*) as all from queen.epochs").number("all")
                        + ", none waits for anybody");
    }

    private static Verdict jobs(Server server) {
        if (!server.isFilled()) {
            return Verdict.ok("none yet");
        }
        List<Inspection.Row> bad =
                server.rows(
                        "select job, state, left(last_error, 200) as error from queen.jobs where state"
                                + " in ('failed', 'paused') order by state, job limit 1");
        if (bad.isEmpty()) {
            return Verdict.ok("none has failed or is paused");
        }
        Inspection.Row row = bad.getFirst();
        return row.text("state").equals("paused")
                ? Verdict.warn(
                        row.text("job") + " is paused",
                        "update queen_store.jobs set enabled = true where name = '%s'"
                                .formatted(row.text("job")))
                : Verdict.warn(
                        "%s failed: %s".formatted(row.text("job"), row.text("error")),
                        "see the log of the broker that ran it");
    }
}
