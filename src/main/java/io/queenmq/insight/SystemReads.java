package io.queenmq.insight;

import io.queenmq.db.ColdQuery;
import io.queenmq.db.ColdReads;

/** What the person on call asks. Answers are JSON, ready to be sent, but for sums. Any thread. */
public final class SystemReads {
    private final ColdQuery<byte[]> jobs;
    private final ColdQuery<byte[]> blocked;
    private final ColdQuery<byte[]> storage;
    private final ColdQuery<byte[]> purges;
    private final ColdQuery<Cell> cell;
    private final ColdQuery<Long> brokers;

    /** How much there is in all, as told. */
    public record Cell(long queues, long lanes) {}

    public SystemReads(ColdReads reads) {
        this.jobs = AnalyticsReads.query(reads, "show_jobs", "");
        this.blocked = AnalyticsReads.query(reads, "show_blocked", "");
        this.storage = AnalyticsReads.query(reads, "show_storage", "");
        this.purges = AnalyticsReads.query(reads, "show_purges", "");
        this.cell =
                reads.query(
                        "read_cell",
                        "select * from queen_store.read_cell()",
                        row ->
                                new Cell(
                                        row.column("queues").getLong(),
                                        row.column("lanes").getLong()));
        this.brokers =
                reads.query(
                        "last_samples",
                        "select count(*) as brokers from queen_store.last_samples('2 minutes')",
                        row -> row.column("brokers").getLong());
    }

    /** Background jobs and how they went. */
    public byte[] jobs() {
        return jobs.ask().getFirst();
    }

    /** Who holds partitions for longer than a second. */
    public byte[] blocked() {
        return blocked.ask().getFirst();
    }

    /** Where the space of the log is. */
    public byte[] storage() {
        return storage.ask().getFirst();
    }

    /** Which tenants are being erased. */
    public byte[] purges() {
        return purges.ask().getFirst();
    }

    public Cell cell() {
        return cell.ask().getFirst();
    }

    /** Brokers that have reported of late. */
    public long brokers() {
        return brokers.ask().getFirst();
    }
}
