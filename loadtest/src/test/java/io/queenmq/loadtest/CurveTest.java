package io.queenmq.loadtest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;

class CurveTest {
    private static Curve curve() {
        Curve curve = new Curve();
        for (String series : List.of("empty twin", "filled, <all>")) {
            for (long retained : new long[] {0, 10_000_000, 50_000_000}) {
                curve.add(
                        new CurvePoint(
                                series,
                                retained,
                                1,
                                8,
                                new CurvePoint.Stand(retained, retained / 100.0, 1, 0, 0),
                                new Sample(5_000, 4_900.25, 100, 200, 20, 1_074, 900),
                                retained == 0 ? Double.NaN : 47.5));
            }
        }
        return curve;
    }

    @Test
    void hasALinePerPointWithAsManyCellsAsThereAreNames() {
        String[] lines = curve().csv().split("\n", -1);
        assertEquals(8, lines.length);
        assertEquals("", lines[7]);
        assertTrue(lines[0].startsWith("series,retained,batch,windows,messages_before"), lines[0]);
        assertEquals(
                "empty twin,10000000,1,8,10000000,100000,1,0,0,5000,4900.250,100,200,20,1074,900,47.500",
                lines[2]);
        int cells = lines[0].split(",", -1).length;
        assertEquals(cells, lines[1].split(",", -1).length);
    }

    @Test
    void whatWasNotCountedIsEmptyAndNamesWithCommasAreQuoted() {
        String[] lines = curve().csv().split("\n", -1);
        assertTrue(lines[1].endsWith(",900,"), lines[1]);
        assertTrue(lines[4].startsWith("\"filled, <all>\",0,"), lines[4]);
    }

    private static Document parsed(String svg) throws Exception {
        return DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(new ByteArrayInputStream(svg.getBytes(StandardCharsets.UTF_8)));
    }

    @Test
    void drawsALinePerSeriesInEveryChartThatShowsAnything() throws Exception {
        String svg = curve().svg("M13 & more");
        Document document = parsed(svg);
        // CPU, p99, WAL, rate and buffers; nothing has expired. Two more lines make the legend.
        assertEquals(5, document.getElementsByTagName("g").getLength());
        assertEquals(5 * 2 + 2, document.getElementsByTagName("polyline").getLength());
        // At 0 there are no buffers.
        assertEquals(4 * 6 + 4, document.getElementsByTagName("circle").getLength());
        assertTrue(svg.contains("prefers-color-scheme: dark"));
        for (String text : List.of(">50 M<", ">CPU per message, µs, batch 1<", ">0<")) {
            assertTrue(svg.contains(text), text);
        }
        assertFalse(svg.contains("NaN"));
    }

    @Test
    void linesLieWithinTheirChart() {
        CurveSvg.Chart chart =
                new CurveSvg.Chart(
                        "x",
                        List.of("0", "1"),
                        List.of(new CurveSvg.Line("a", new double[] {3, 9.99})));
        String svg = CurveSvg.render("t", "axis", List.of(chart));
        // The baseline is at 188 and the top of the frame at 34; the highest value stays below it.
        assertTrue(svg.contains("points=\"143.0,"), svg);
        double highest =
                Double.parseDouble(
                        svg.replaceAll("(?s).*points=\"143.0,[0-9.]+ 301.0,([0-9.]+)\".*", "$1"));
        assertTrue(highest > 34 && highest < 60, "at " + highest);
    }

    @Test
    void distancesOfTheGridAreRound() {
        assertEquals(0.2, CurveSvg.tick(1), 1e-12);
        assertEquals(5, CurveSvg.tick(13), 1e-12);
        assertEquals(100, CurveSvg.tick(420), 1e-12);
        assertEquals(2_000, CurveSvg.tick(9_999), 1e-9);
    }

    @Test
    void sizesReadShortly() {
        assertEquals(
                List.of("0", "100", "20 k", "2.5 M", "50 M"),
                List.of(0L, 100L, 20_000L, 2_500_000L, 50_000_000L).stream()
                        .map(Curve::label)
                        .toList());
    }

    @Test
    void aSampleOfSeveralWindowsIsTheMiddleFigureByFigure() {
        List<Sample> windows =
                List.of(
                        new Sample(1, 10, 5, 1, 9, 0, 0),
                        new Sample(2, 30, 4, 1, 7, 0, 0),
                        new Sample(3, 20, 6, 1, 8, 0, 0));
        assertEquals(new Sample(2, 20, 5, 1, 8, 0, 0), Sample.median(windows));
        assertEquals(2.5, Sample.median(new double[] {4, 1, 3, 2}));
        assertEquals(6, windows.getFirst().serverMicros());
    }
}
