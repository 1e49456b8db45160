package io.queenmq.api;

import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.queenmq.db.DatabaseConfig;
import io.queenmq.db.Migrations;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.SqlTree;
import io.queenmq.testkit.TestDatabase;
import java.io.IOException;
import java.nio.file.Files;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.util.PSQLException;

/** What queen_reader and queen_writer may do, and what a role with neither may not. */
class RolesProceduresTest {
    private TestDatabase database;
    private Connection connection;

    @BeforeEach
    void connect() throws SQLException {
        database = TestDatabase.migrated();
        connection = database.connect();
        lines(connection, "select * from queen.push('orders', 'a', '1')");
    }

    @AfterEach
    void disconnect() throws SQLException {
        connection.close();
        database.close();
    }

    @Test
    void aWriterPushesPopsAndAcks() throws SQLException {
        become("queen_writer");

        assertEquals(
                "queued",
                line(connection, "select status from queen.push('orders', 'b', '2', 't')"));
        assertEquals(
                "duplicate",
                line(connection, "select status from queen.push('orders', 'b', '2', 't')"));
        assertEquals("1", line(connection, "select payload from queen.pop('orders')"));
        assertEquals(
                "f|invalid or expired lease",
                line(
                        connection,
                        "select success, error from queen.ack('00000000-0000-8000-8000-000000000001',"
                                + " 't', p_lease_id => gen_random_uuid())"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "select * from queen.messages",
                "select * from queen.read('orders', 'a')",
                "select * from queen.message('orders', 'a', 't')",
                "select * from queen.violations('orders', 'a')",
                "select queen.wake(array[1], array[1])",
                "select * from queen_store.partitions",
                "select queen_store.delete_queue(gen_random_uuid(), 'orders')",
                "insert into queen_store.queues (tenant_id, name) values (gen_random_uuid(), 'q')",
                "create table queen.mine (id int)",
            })
    void aWriterSeesAndDoesNothingElse(String sql) throws SQLException {
        become("queen_writer");

        assertRefused(sql);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "queen.queues",
                "queen.partitions",
                "queen.messages",
                "queen.cursors",
                "queen.leases",
                "queen.dead_letters",
                "queen.blocked_partitions",
                "queen.functions",
                "queen.read('orders', 'a')",
                "queen.message('orders', 'a', 't')",
                "queen.violations('orders', 'a')",
                "queen_store.segments",
            })
    void aReaderSeesEverything(String relation) throws SQLException {
        lines(connection, "select * from queen.pop('orders', 'g', p_subscription_mode => 'all')");
        become("queen_reader");

        lines(connection, "select * from " + relation);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "select * from queen.push('orders', 'a', '1')",
                "select * from queen.pop('orders')",
                "select * from queen.ack(gen_random_uuid(), 't')",
                "select queen_store.delete_queue(gen_random_uuid(), 'orders')",
                "delete from queen_store.segments",
                "update queen_store.queues set name = 'x'",
            })
    void aReaderChangesNothing(String sql) throws SQLException {
        become("queen_reader");

        assertRefused(sql);
    }

    @Test
    void everyoneElseMayDoNothing() throws SQLException {
        become(null);

        assertRefused("select * from queen.push('orders', 'a', '1')");
        assertRefused("select * from queen.queues");
        assertRefused("select queen_store.key_of('t')");
    }

    @Test
    void aMigrationThatMayNotCreateRolesGoesOnWithoutThem() throws SQLException, IOException {
        try (TestDatabase own = TestDatabase.empty()) {
            lines(
                    connection,
                    "create role plain_owner login; grant create on database %s to plain_owner"
                            .formatted(own.name()));
            new Migrations(
                            DatabaseConfig.of(
                                    own.host(), own.port(), own.name(), "plain_owner", ""),
                            Clock.SYSTEM)
                    .apply();
            try (Connection owner =
                    DriverManager.getConnection(
                            own.url().replace("user=queen", "user=plain_owner"))) {
                lines(owner, roles("never_made"));

                assertEquals("", line(owner, "select to_regrole('never_made_writer')"));
                assertEquals(
                        "queued", line(owner, "select status from queen.push('orders', 'a', '1')"));
            }
        }
    }

    @Test
    void twoDatabasesThatMigrateAtOnceMakeTheRolesOnce() throws Exception {
        try (TestDatabase other = TestDatabase.migrated();
                Connection second = other.connect();
                ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
            connection.setAutoCommit(false);
            lines(connection, roles("raced"));
            Future<List<String>> waiting = executor.submit(() -> lines(second, roles("raced")));
            Await.until(
                    "a blocked session",
                    () ->
                            !line(connection, "select count(*) from pg_locks where not granted")
                                    .equals("0"));
            connection.commit();
            waiting.get();

            assertEquals(
                    "t",
                    line(second, "select has_schema_privilege('raced_writer', 'queen', 'usage')"));
        }
    }

    /**
     * The file that makes the roles, for roles of other names: the server is shared by all tests.
     */
    private static String roles(String prefix) throws IOException {
        return Files.readString(
                        SqlTree.files("views").stream()
                                .filter(f -> f.endsWith("R__zz_roles.sql"))
                                .findFirst()
                                .orElseThrow())
                .replace("queen_reader", prefix + "_reader")
                .replace("queen_writer", prefix + "_writer");
    }

    private void become(String member) throws SQLException {
        String role = "application_" + database.name();
        lines(connection, "create role " + role);
        if (member != null) {
            lines(connection, "grant " + member + " to " + role);
        }
        lines(connection, "set role " + role);
    }

    private void assertRefused(String sql) {
        PSQLException e = assertThrows(PSQLException.class, () -> lines(connection, sql));
        assertEquals("42501", e.getSQLState(), e.getMessage());
    }
}
