# SPDX-License-Identifier: MIT
# perl with forks: children allocate, exit and exec.
need perl
. "$SRC/tests/lib/program.sh"
same_as_plain sampled exact verify <<'END'
cat >all.pl <<'P'
use strict;
use warnings;
$| = 1;
my %h;
$h{"key$_"} = [map { $_ * 3 } 1 .. ($_ % 23)] for 1 .. 5003;
my $n = 0;
$n += scalar @{$h{$_}} for keys %h;
print "hash $n\n";
for my $i (1 .. 23) {
    pipe(my $r, my $w) or die;
    my $pid = fork;
    die unless defined $pid;
    if (!$pid) {
        close $r;
        my @a = map { "x" x $_ } 1 .. $i * 10;
        print $w length(join "", @a), "\n";
        close $w;
        exec "/bin/echo", "exec $i" if $i % 5 == 0;
        exit $i;
    }
    close $w;
    my $line = <$r>;
    waitpid $pid, 0;
    print "child $i: status ", $? >> 8, ", $line";
}
print "system ", system("exit 7") >> 8, "\n";
my $text = "ab12cd345" x 1009;
my $count = () = $text =~ /(\d+)/g;
print "regex $count\n";
P
perl all.pl
echo "status $?"
END
