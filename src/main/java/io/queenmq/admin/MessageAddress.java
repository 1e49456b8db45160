package io.queenmq.admin;

import io.queenmq.model.Ids;
import io.queenmq.model.Names;
import io.queenmq.model.Uuids;
import io.queenmq.web.Exchange;
import java.util.UUID;

/**
 * How a message is named in a path.
 *
 * @param lane number of the partition; 0 = the id is none of a partition
 */
record MessageAddress(String partitionId, String transactionId, long lane) {
    static final String ROUTE = "/api/v1/messages/:partitionId/:transactionId";

    static MessageAddress of(Exchange exchange) {
        String partitionId = exchange.segment("partitionId");
        UUID uuid = Uuids.parse(partitionId);
        return new MessageAddress(
                partitionId,
                Names.transactionId("transactionId", exchange.segment("transactionId")),
                uuid == null ? 0 : Ids.partitionNumber(uuid));
    }
}
