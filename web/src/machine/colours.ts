// Colours that can be told apart on light and on dark ground, in the order in which tenants appear.
const palette = ["#d28f1f", "#3d8fd1", "#3f9f63", "#b45fc4", "#d4574e", "#2ba3a3", "#8a8f2e", "#7a77e0"];
const kMostGiven = 1000; // names; then all get their colours anew
const given = new Map<string, string>();

export function colourOf(tenant: string): string {
  const known = given.get(tenant);
  if (known) return known;
  if (given.size >= kMostGiven) given.clear();
  const colour = palette[given.size % palette.length]!;
  given.set(tenant, colour);
  return colour;
}

/** "address:127.0.0.1" is how the server calls a client without a key. */
export function nameOf(tenant: string): string {
  return tenant.replace(/^address:/, "");
}
