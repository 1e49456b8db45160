package io.queenmq.maintain;

import io.queenmq.db.Database;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/** The steps of an epoch's life, each a transaction of its own. */
final class EpochProcedures {
    /** What is to be done to an epoch next. */
    enum Step {
        BUILD,
        OPEN,
        SEAL,
        DETACH,
        FINALIZE,
        DROP,
        EVACUATE,
        SWEEP
    }

    record Work(Step step, int epoch) {}

    /**
     * A step of an evacuation.
     *
     * @param held it ended at a lane that is somebody's
     * @param done nothing alive is left
     */
    record Evacuated(boolean held, boolean done, long rows, long bytes) {}

    /**
     * A step through epoch 0.
     *
     * @param rows deleted
     */
    record Swept(long rows, boolean done) {}

    private static final String LOCK_NOT_AVAILABLE = "55P03";

    private final Database database;
    private final EpochConfig config;

    EpochProcedures(Database database, EpochConfig config) {
        this.database = database;
        this.config = config;
    }

    List<Work> work() {
        return database.call(
                "epoch_work",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select upper(step), epoch from queen_store.epoch_work"
                                                    + "(?, ?, ?, ?, ?, clock_timestamp())")) {
                        statement.setLong(1, config.rowsMax());
                        statement.setLong(2, config.bytesMax());
                        statement.setLong(3, config.ageMax().toSeconds());
                        statement.setInt(4, config.epochsMax());
                        statement.setInt(5, config.livePercent());
                        List<Work> work = new ArrayList<>();
                        try (ResultSet rows = statement.executeQuery()) {
                            while (rows.next()) {
                                work.add(new Work(Step.valueOf(rows.getString(1)), rows.getInt(2)));
                            }
                        }
                        return work;
                    }
                });
    }

    /** Whether the epoch behind the open one was built by this call. */
    boolean build(int open) {
        return database.call(
                "build_epoch",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select queen_store.build_epoch(?, clock_timestamp())"
                                                    + " is not null")) {
                        statement.setInt(1, open);
                        return isTrue(statement);
                    }
                });
    }

    /** Whether the built one is open now. */
    boolean open() {
        return isTrue("open_epoch", "select queen_store.open_epoch(clock_timestamp())");
    }

    /** Whether an epoch was sealed. */
    boolean seal() {
        return isTrue("seal_epochs", "select queen_store.seal_epochs() > 0");
    }

    /**
     * Takes the table of an epoch out of the log. In two transactions, the second of which waits
     * for everybody who has the log open; interrupted in between it has to be finalized.
     *
     * @return false when somebody kept it waiting too long
     */
    boolean detach(int epoch, boolean interrupted) {
        String sql =
                "alter table queen_store.segments detach partition queen_store.segments_"
                        + epoch
                        + (interrupted ? " finalize" : " concurrently");
        return database.call(
                "detach_epoch",
                session -> {
                    try (Statement statement = session.connection().createStatement()) {
                        statement.execute("set lock_timeout = '3s'");
                        try {
                            statement.execute(sql);
                            return true;
                        } catch (SQLException e) {
                            if (LOCK_NOT_AVAILABLE.equals(e.getSQLState())) {
                                return false;
                            }
                            throw e;
                        } finally {
                            statement.execute("reset lock_timeout");
                        }
                    }
                });
    }

    /** Whether the epoch was there to be dropped. */
    boolean drop(int epoch) {
        return database.call(
                "drop_epoch",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement("select queen_store.drop_epoch(?)")) {
                        statement.setInt(1, epoch);
                        return isTrue(statement);
                    }
                });
    }

    /**
     * @param wait for the first lane, should it be held
     */
    Evacuated evacuate(int epoch, boolean wait) {
        return database.call(
                "evacuate",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select verdict, rows, bytes from queen_store.evacuate"
                                                    + "(?, ?, ?, ?, ?, clock_timestamp())")) {
                        statement.setInt(1, epoch);
                        statement.setInt(2, config.readMax());
                        statement.setInt(3, config.moveMax());
                        statement.setLong(4, config.moveBytesMax());
                        statement.setBoolean(5, wait);
                        try (ResultSet row = statement.executeQuery()) {
                            row.next();
                            String verdict = row.getString(1);
                            return new Evacuated(
                                    verdict.equals("held"),
                                    !verdict.equals("held") && !verdict.equals("moved"),
                                    row.getLong(2),
                                    row.getLong(3));
                        }
                    }
                });
    }

    Swept sweep() {
        return database.call(
                "sweep_epoch",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select rows, done from queen_store.sweep_epoch"
                                                    + "(?, clock_timestamp())")) {
                        statement.setInt(1, config.readMax());
                        try (ResultSet row = statement.executeQuery()) {
                            row.next();
                            return new Swept(row.getLong(1), row.getBoolean(2));
                        }
                    }
                });
    }

    private boolean isTrue(String name, String sql) {
        return database.call(
                name,
                session -> {
                    try (PreparedStatement statement = session.connection().prepareStatement(sql)) {
                        return isTrue(statement);
                    }
                });
    }

    private static boolean isTrue(PreparedStatement statement) throws SQLException {
        try (ResultSet row = statement.executeQuery()) {
            return row.next() && row.getBoolean(1);
        }
    }
}
