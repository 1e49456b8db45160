package io.queenmq.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.TcpProxy;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * Goal: a commit whose answer never came is settled, not repeated. Method: the queue's duplicate
 * detection is off, so that a batch written twice stays written twice. Under load the link between
 * broker and database swallows the server's answers until a commit is known to have gone
 * unanswered, then breaks. No push may end in doubt, one that could not reach the database for long
 * may end as failed, and the lanes have to hold exactly what was accepted.
 */
final class LostAnswerFaultTest {
    private static final String QUEUE = "unanswered";

    @Test
    @Contract({"http-20", "push-22", "ack-7", "error-3"})
    void settlesCommitsWhoseAnswerWasLost() throws IOException, InterruptedException, SQLException {
        try (PostgresProcess postgres = PostgresProcess.start();
                TcpProxy link = new TcpProxy("127.0.0.1", postgres.port());
                BrokerProcess broker = BrokerProcess.start(link.port());
                Connection observer = postgres.connect()) {
            Http.Answer configured =
                    new Http(broker.url())
                            .call(
                                    "POST",
                                    "/api/v1/configure",
                                    "{\"queue\":\"%s\",\"options\":{\"dedupWindowSeconds\":0}}"
                                            .formatted(QUEUE));
            assertEquals(200, configured.status());
            try (Workload workload = new Workload(QUEUE, 12, broker.url())) {
                workload.start(12, 4);
                int unanswered = 0;
                for (int tries = 0; unanswered < 5; tries++) {
                    assertTrue(tries < 50, "hardly any commit went unanswered: " + unanswered);
                    workload.books().awaitAccepted(300);
                    link.swallowAnswers(true);
                    if (isUnanswered(observer, workload.books())) {
                        unanswered++;
                    }
                    link.cut();
                    link.swallowAnswers(false);
                }
                workload.books().awaitAccepted(300);
                workload.finish();
                assertEquals(Set.of(), workload.books().violations());
                assertEquals(0, workload.books().inDoubt());
                assertEquals(workload.books().accepted(), stored(observer));
                Stored.assertSound(postgres, QUEUE);
            }
        }
    }

    /**
     * Whether a commit is known to have gone unanswered. Asked often in a row, for answers that
     * left before the link was blocked still arrive. None may come: a link that is blocked while
     * the broker's connections are being replaced lets none of them through, so nothing can be
     * asked for.
     */
    private static boolean isUnanswered(Connection observer, Books books) throws SQLException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(3);
        int inRow = 0;
        while (inRow < 200) {
            inRow = stored(observer) > books.accepted() ? inRow + 1 : 0;
            if (System.nanoTime() > deadline) {
                return false;
            }
        }
        return true;
    }

    private static long stored(Connection observer) throws SQLException {
        return Long.parseLong(
                Lines.line(
                        observer,
                        """
                        select coalesce(sum(p.last_offset + 1), 0)
                        from queen_store.queues q
                        join queen_store.partitions p on p.queue_id = q.id
                        where q.name = '%s'
                        """
                                .formatted(QUEUE)));
    }
}
