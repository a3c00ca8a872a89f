# SPDX-License-Identifier: MIT
# A Java program with threads, compiled and run; the virtual machine maps, signals and unwinds itself.
need java javac
. "$SRC/tests/lib/program.sh"
same_as_plain sampled verify <<'END'
cat >All.java <<'J'
import java.util.*;
import java.util.concurrent.*;
import java.util.zip.*;

public class All {
    static long work(int n) {
        Map<String, List<Integer>> m = new HashMap<>();
        for (int i = 0; i < n; i++)
            m.computeIfAbsent("k" + i % 97, k -> new ArrayList<>()).add(i);
        long sum = 0;
        for (List<Integer> l : m.values())
            for (int i : l)
                sum += i;
        return sum;
    }
    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Long>> f = new ArrayList<>();
        for (int i = 1; i <= 8; i++) {
            final int n = i * 10007;
            f.add(pool.submit(() -> work(n)));
        }
        for (Future<Long> r : f)
            System.out.println(r.get());
        pool.shutdown();
        Deflater d = new Deflater();
        byte[] in = new byte[1000003];
        for (int i = 0; i < in.length; i++)
            in[i] = (byte) (i * 7 >> 3);
        d.setInput(in);
        d.finish();
        byte[] out = new byte[2000003];
        System.out.println(d.deflate(out) > 0);
        String s = null;
        try {
            s.length();
        } catch (NullPointerException e) {
            System.out.println("caught");
        }
        java.nio.ByteBuffer b = java.nio.ByteBuffer.allocateDirect(5000011);
        b.put(4999999, (byte) 7);
        System.out.println(b.get(4999999));
        Process p = new ProcessBuilder("sh", "-c", "exit 23").start();
        System.out.println(p.waitFor());
        System.exit(3);
    }
}
J
javac -J-Xmx256m All.java
java -Xmx128m All
echo "status $?"
END
