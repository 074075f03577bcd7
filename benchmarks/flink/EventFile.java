import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.connector.datagen.source.GeneratorFunction;

/** The events of a file of records of equal length, by their number; the file is mapped, not parsed. */
public class EventFile implements GeneratorFunction<Long, Event> {
    private static final long serialVersionUID = 1;
    private static final int RECORD = 4 * Long.BYTES + Integer.BYTES;

    private final String path;
    private transient MappedByteBuffer records;

    EventFile(String path) {
        this.path = path;
    }

    long size() throws IOException {
        return Files.size(Path.of(path)) / RECORD;
    }

    @Override
    public void open(SourceReaderContext context) throws IOException {
        try (FileChannel file = FileChannel.open(Path.of(path))) {
            records = file.map(FileChannel.MapMode.READ_ONLY, 0, file.size());
        }
        records.order(ByteOrder.LITTLE_ENDIAN);
    }

    @Override
    public Event map(Long number) {
        int at = (int) (number * RECORD);
        return new Event(
                records.getLong(at),
                records.getInt(at + 32),
                records.getLong(at + 8),
                records.getLong(at + 16),
                records.getDouble(at + 24));
    }
}
