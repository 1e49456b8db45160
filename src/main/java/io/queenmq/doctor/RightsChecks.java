package io.queenmq.doctor;

import io.queenmq.db.Inspection;
import java.util.List;

/** What the role may do. */
final class RightsChecks {
    static final List<Check> ALL =
            List.of(
                    new Check("right_to_create", RightsChecks::create),
                    new Check("right_to_read_all_stats", RightsChecks::readAllStats),
                    new Check("roles", RightsChecks::roles));

    private RightsChecks() {}

    /** Schemas that are there must be its own, too: migrations and epochs change their tables. */
    private static Verdict create(Server server) {
        Inspection.Row row =
                server.row(
                        """
                        select has_database_privilege(current_database(), 'create') as may_create,
                               (select string_agg(distinct quote_ident(o.rolname), ', ')
                                from pg_namespace n
                                join pg_roles o on o.oid = n.nspowner
                                where n.nspname in ('queen', 'queen_store')
                                  and not pg_has_role(n.nspowner, 'usage')) as owners
                        """);
        if (row.find("owners").isPresent()) {
            String owners = row.text("owners");
            return Verdict.fail(
                    "the schemas queen and queen_store belong to " + owners,
                    "grant %s to %s".formatted(owners, server.role()));
        }
        return row.is("may_create")
                ? Verdict.ok("the role may make its schemas")
                : Verdict.fail(
                        "the role may make no schema in this database",
                        "grant create on database %s to %s"
                                .formatted(server.database(), server.role()));
    }

    private static Verdict readAllStats(Server server) {
        return server.row("select pg_has_role('pg_read_all_stats', 'usage') as has").is("has")
                ? Verdict.ok("the role sees the sessions of other roles")
                : Verdict.warn(
                        "the role does not see the sessions of other roles: a new consumer group"
                                + " may begin up to 60 s early, and who holds up an epoch stays"
                                + " unknown",
                        "grant pg_read_all_stats to " + server.role());
    }

    private static Verdict roles(Server server) {
        return server.row(
                        "select string_agg('create role ' || r.name, '; ' order by r.name) as missing"
                                + " from unnest(array['queen_reader', 'queen_writer']) r (name)"
                                + " where to_regrole(r.name) is null")
                .find("missing")
                .map(
                        missing ->
                                server.isFilled()
                                        ? Verdict.warn(
                                                "there are not both of queen_reader and"
                                                        + " queen_writer to grant to people",
                                                missing + "; the next migration gives them rights")
                                        : Verdict.hint(
                                                "queen_reader and queen_writer are made by the"
                                                        + " first broker where it may",
                                                missing + " where it may not"))
                .orElse(Verdict.ok("queen_reader and queen_writer can be granted to people"));
    }
}
