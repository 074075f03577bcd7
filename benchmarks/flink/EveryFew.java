import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.common.eventtime.WatermarkGenerator;
import org.apache.flink.api.common.eventtime.WatermarkOutput;

/**
 * Watermarks of events in order, one for each few events.
 *
 * <p>Flink CEP keeps the events between two watermarks in a map and scans that map once for each of them. With the
 * usual watermarks, one in 200 ms, a source that is read as fast as possible fills the map, and scanning takes
 * most of the time.
 */
final class EveryFew implements WatermarkGenerator<Event> {
    private static final int FEW = 100;
    private int waiting;

    @Override
    public void onEvent(Event event, long time, WatermarkOutput output) {
        waiting++;
        if (waiting == FEW) {
            waiting = 0;
            output.emitWatermark(new Watermark(time - 1));
        }
    }

    @Override
    public void onPeriodicEmit(WatermarkOutput output) {}
}
