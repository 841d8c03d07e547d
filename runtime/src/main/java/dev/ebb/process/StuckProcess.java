package dev.ebb.process;

/** A process that outlived SIGKILL: its state letter, and the kernel function it waits in. */
public record StuckProcess(int pid, char state, String waitChannel) {}
