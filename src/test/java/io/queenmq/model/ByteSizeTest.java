package io.queenmq.model;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ByteSizeTest {
    @ParameterizedTest
    @CsvSource({
        "0, 0",
        "512, 512",
        "10B, 10",
        "1kB, 1024",
        "10 MB, 10485760",
        " 2GB , 2147483648",
        "3TB, 3298534883328"
    })
    void isReadAsPeopleWriteIt(String text, long bytes) {
        assertEquals(Optional.of(new ByteSize(bytes)), ByteSize.parse(text));
    }

    @Test
    void isRefusedWhereItIsNoneOrMoreThanThereIs() {
        for (String text :
                new String[] {"", "GB", "-1GB", "1.5GB", "1PB", "10gb", "9999999999999TB"}) {
            assertEquals(Optional.empty(), ByteSize.parse(text), text);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0 B",
        "10239, 10239 B",
        "10240, 10 kB",
        "1073741824, 1024 MB",
        "10737418240, 10 GB",
        "9223372036854775807, 8388607 TB"
    })
    void isWrittenInTheLargestUnitThatSaysEnough(long bytes, String text) {
        assertEquals(text, new ByteSize(bytes).toString());
    }
}
