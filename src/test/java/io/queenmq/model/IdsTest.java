package io.queenmq.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import java.util.HashSet;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class IdsTest {
    private static final long HIGHEST = Ids.PARTITION_NUMBER_LIMIT - 1;

    @Test
    @Contract("model-3")
    void partitionIdShowsItsNumberInHex() {
        assertEquals("00000000-0000-8000-8000-00000000002a", Ids.partitionId(42).toString());
        assertEquals(42, Ids.partitionNumber(Ids.partitionId(42)));
        assertEquals(HIGHEST, Ids.partitionNumber(Ids.partitionId(HIGHEST)));
    }

    @Test
    void idsOfAnotherFormNameNoLane() {
        assertEquals(0, Ids.partitionNumber(Ids.NIL));
        assertEquals(0, Ids.partitionNumber(Ids.partitionId(0)));
        assertEquals(0, Ids.partitionNumber(Ids.partitionId(Ids.PARTITION_NUMBER_LIMIT)));
        assertEquals(
                0, Ids.partitionNumber(UUID.fromString("00000000-0000-7000-8000-00000000002a")));
        assertEquals(
                0, Ids.partitionNumber(UUID.fromString("00000000-0000-8000-9000-00000000002a")));
    }

    @Test
    void messageIdIsAVersion7OfTimeLaneAndOffset() {
        UUID id = Ids.messageId(0x0123_4567_89ABL, (0xABCL << 24) | 0xFEDCBA, (1L << 38) + 5);
        assertEquals(7, id.version());
        assertEquals(2, id.variant());
        assertEquals("01234567-89ab-7abc", id.toString().substring(0, 18));
        assertEquals(0xFEDCBA, (id.getLeastSignificantBits() >>> 38) & 0xFF_FFFF);
        assertEquals(5, id.getLeastSignificantBits() & ((1L << 38) - 1));
    }

    @Test
    void messageIdsOfALaneAscendWithTheOffset() {
        UUID first = Ids.messageId(1_000, HIGHEST, 7);
        assertTrue(first.toString().compareTo(Ids.messageId(1_000, HIGHEST, 8).toString()) < 0);
        assertTrue(first.toString().compareTo(Ids.messageId(1_001, HIGHEST, 0).toString()) < 0);
    }

    @Test
    void leaseIdCarriesItsLaneAndKeepsTimeAndRandomness() {
        UUID minted = new UuidMint(() -> 1_700_000_000_000L).mint();
        for (long number : new long[] {0, 1, 42, 0xFF_FFFF, 0x100_0000, HIGHEST}) {
            UUID lease = Ids.leaseId(minted, number);
            assertEquals(number, Ids.leasePartition(lease));
            assertEquals(7, lease.version());
            assertEquals(2, lease.variant());
            assertEquals(
                    minted.getMostSignificantBits() >>> 12, lease.getMostSignificantBits() >>> 12);
            assertEquals(
                    minted.getLeastSignificantBits() << 26, lease.getLeastSignificantBits() << 26);
        }
        assertEquals(-1, Ids.leasePartition(Ids.partitionId(42)));
        assertEquals(-1, Ids.leasePartition(UUID.randomUUID()));
    }

    @Test
    void mintedIdsAreUniqueVersion7OfTheirTime() {
        long millis = 1_700_000_000_123L;
        UuidMint mint = new UuidMint(() -> millis);
        Set<UUID> seen = new HashSet<>();
        for (int i = 0; i < 100_000; i++) {
            UUID id = mint.mint();
            assertEquals(7, id.version());
            assertEquals(2, id.variant());
            assertEquals(millis, id.getMostSignificantBits() >>> 16);
            assertTrue(seen.add(id), "minted twice");
        }
        assertNotEquals(mint.mint(), new UuidMint(() -> millis).mint());
    }
}
