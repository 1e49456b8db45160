package io.queenmq.testkit;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;

/**
 * The clock of PostgreSQL as one database sees it, which a test sets forward and back. Functions,
 * views and defaults of columns read the time through a function of this class from then on; what
 * calls the server's own clock by a statement of its own does not.
 */
public final class ServerClock implements AutoCloseable {
    private static final String INSTALL =
            """
            do $do$
            declare
                v record;
            begin
                create table public.clock_step (by interval not null);
                insert into public.clock_step values ('0');
                create function public.stepped_clock() returns timestamptz
                language sql volatile parallel safe
                as 'select pg_catalog.clock_timestamp() + s.by from public.clock_step s';

                for v in
                    select pg_get_functiondef(p.oid) as definition
                    from pg_proc p
                    where p.pronamespace in ('queen'::regnamespace, 'queen_store'::regnamespace)
                      and p.prokind = 'f'
                      and pg_get_functiondef(p.oid) like '%clock_timestamp()%'
                loop
                    execute replace(
                        v.definition, 'clock_timestamp()', 'public.stepped_clock()');
                end loop;
                for v in
                    select c.oid::regclass as name, pg_get_viewdef(c.oid) as definition
                    from pg_class c
                    where c.relnamespace in ('queen'::regnamespace, 'queen_store'::regnamespace)
                      and c.relkind = 'v' and pg_get_viewdef(c.oid) like '%clock_timestamp()%'
                loop
                    execute format('create or replace view %s as %s', v.name, replace(
                        v.definition, 'clock_timestamp()', 'public.stepped_clock()'));
                end loop;
                for v in
                    select d.adrelid::regclass as name, a.attname
                    from pg_attrdef d
                    join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
                    where pg_get_expr(d.adbin, d.adrelid) = 'clock_timestamp()'
                loop
                    execute format('alter table %s alter %I set default public.stepped_clock()',
                        v.name, v.attname);
                end loop;
            end
            $do$
            """;

    private final Connection connection;

    private ServerClock(Connection connection) {
        this.connection = connection;
    }

    /** Of a database that nobody uses yet. */
    public static ServerClock of(TestDatabase database) throws SQLException {
        ServerClock clock = new ServerClock(database.connect());
        clock.execute(INSTALL);
        return clock;
    }

    /** Sets it to that much before or behind the true time. */
    public void set(Duration step) throws SQLException {
        execute("update public.clock_step set by = interval '%d s'".formatted(step.toSeconds()));
    }

    private void execute(String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    @Override
    public void close() throws SQLException {
        connection.close();
    }
}
