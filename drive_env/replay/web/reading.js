/* How do the bytes in this page become arrays? The inverse of drive_env/replay/packing.py. */

async function readRecording() {
  const packed = fromBase64(document.getElementById("recording").textContent.trim());
  const bytes = await inflated(packed);
  const headerBytes = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + headerBytes)));
  const body = bytes.subarray(4 + headerBytes);
  return {...header, array: (name) => decodedArray(header.arrays[name], body)};
}

function fromBase64(text) {
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

async function inflated(bytes) {
  if (typeof DecompressionStream === "undefined") return inflate(bytes);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* Element (series, frame) is at series * frames + frame. */
function decodedArray(entry, body) {
  const counts = countsOf(entry, body);
  for (let time = 0; time < entry.order; time++) cumulativeSum(counts, entry.series, entry.frames);
  if (entry.quantum === 1) return counts;
  if (entry.quantum === 0) return new Float32Array(counts.buffer);
  return Float32Array.from(counts, (count) => count * entry.quantum);
}

/* Integers from byte planes; the sign is in the lowest bit. */
function countsOf(entry, body) {
  const length = entry.series * entry.frames, counts = new Int32Array(length);
  for (let plane = 0; plane < entry.planes; plane++) {
    const from = entry.at + plane * length;
    for (let i = 0; i < length; i++) counts[i] |= body[from + i] << (8 * plane);
  }
  for (let i = 0; i < length; i++) counts[i] = (counts[i] >>> 1) ^ -(counts[i] & 1);
  return counts;
}

/* Inverse of the differences along the frames; both wrap at 32 bits. */
function cumulativeSum(counts, series, frames) {
  for (let one = 0; one < series; one++)
    for (let i = one * frames + 1; i < (one + 1) * frames; i++) counts[i] += counts[i - 1];
}
