package io.queenmq.admin;

import io.queenmq.insight.StorageReads;
import io.queenmq.insight.StorageReads.Gauges;
import io.queenmq.metrics.MetricsText;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The families that tell of the log and of what is in its way, the same at every broker. */
final class StorageMetrics {
    private static final Logger LOG = System.getLogger(StorageMetrics.class.getName());
    private static final String BYTES = "queen_storage_bytes";

    /** A transaction that is open for longer is named in the log. */
    private static final double XMIN_AGE_SECONDS_MAX = 600;

    private final StorageReads reads;

    /** Who was named last: once is enough. Two scrapes at once may say it twice. */
    private volatile @Nullable String named;

    StorageMetrics(StorageReads reads) {
        this.reads = reads;
    }

    void addTo(MetricsText text) {
        Gauges gauges = reads.gauges();
        one(text, "queen_epochs", "Tables that the log is made of.", gauges.epochs());
        one(
                text,
                "queen_epoch_seal_blocked_seconds",
                "How long the oldest epoch waits for transactions that may still write to it.",
                gauges.sealBlockedSeconds());
        text.gauge(
                BYTES,
                "Disk space of the log: what is kept, and what has expired and is still there.");
        text.sample(BYTES, gauges.liveBytes(), "state", "live");
        text.sample(BYTES, gauges.expiredBytes(), "state", "expired");
        Double seconds = gauges.xminAgeSeconds();
        one(
                text,
                "queen_xmin_horizon_age_seconds",
                "Age of the oldest transaction that holds dead rows back.",
                seconds == null ? 0 : seconds);
        Long transactions = gauges.xminAgeTransactions();
        one(
                text,
                "queen_xmin_horizon_age_transactions",
                "How many transactions ago dead rows began to be held back, standbys and slots"
                        + " included.",
                transactions == null ? 0 : transactions);
        name(gauges);
        one(
                text,
                "queen_lanes_blocked",
                "Sessions and prepared transactions that have held lanes for over a second.",
                gauges.laneHolders());
        one(
                text,
                "queen_safe_time_behind_seconds",
                "How far before its time a safeTime is that a connector is told, 5 at least.",
                gauges.safeTimeBehindSeconds());
    }

    private void name(Gauges gauges) {
        Double seconds = gauges.xminAgeSeconds();
        if (seconds == null || seconds < XMIN_AGE_SECONDS_MAX) {
            named = null;
        } else if (!Objects.equals(named, gauges.xminHolder())) {
            named = gauges.xminHolder();
            LOG.log(
                    Level.WARNING,
                    "an old transaction keeps vacuum from cleaning age_seconds={0} holder=\"{1}\"",
                    Long.toString(seconds.longValue()),
                    String.valueOf(named));
        }
    }

    private static void one(MetricsText text, String name, String help, Number value) {
        text.gauge(name, help).sample(name, value);
    }
}
