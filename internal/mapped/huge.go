package mapped

// HugeBytes is the usual size of a huge page: amd64's, and arm64's with pages of
// 4 KiB.
const HugeBytes = 2 << 20
