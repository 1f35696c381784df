// @ts-check
// How things are said: times, numbers, states.

/** Words for states, in the order of the page: worst first. */
export const STATES = {
  failing: 'failing', blocked: 'blocked', manual: 'needs action', running: 'running', unknown: 'unknown', waiting: 'waiting', planned: 'planned', healthy: 'healthy',
};

/** What each state means, for hints. */
export const MEANS = {
  failing: 'the Application itself has a problem', blocked: 'it waits for an Application that fails', manual: 'it must be synced or resumed by hand',
  running: 'it syncs, or becomes healthy', unknown: 'its state is not known', waiting: 'its wave has not started', planned: 'a plan has no state',
  healthy: 'healthy and synced',
};

/** clock is a time of the boot. @param {number} ms */
export function clock(ms) {
  const sign = ms < 0 ? '−' : '';
  const s = Math.floor(Math.abs(ms) / 1000);
  const two = (n) => String(n).padStart(2, '0');
  const h = Math.floor(s / 3600);
  return sign + (h > 0 ? `${h}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}` : `${Math.floor(s / 60)}:${two(s % 60)}`);
}

/** span is how long something takes. @param {number} ms */
export function span(ms) {
  const s = Math.round(ms / 1000);
  if (s < 0) return '';
  if (s < 60) return `${s}s`;
  if (s < 3600) return s % 60 && s < 600 ? `${Math.floor(s / 60)}m ${s % 60}s` : `${Math.floor(s / 60)}m`;
  if (s < 86400) return s % 3600 >= 60 ? `${Math.floor(s / 3600)}h ${Math.floor((s % 3600) / 60)}m` : `${Math.floor(s / 3600)}h`;
  return `${Math.floor(s / 86400)}d`;
}

/** count is a number and its noun. @param {number} n @param {string} noun */
export const count = (n, noun) => `${n.toLocaleString('en')} ${noun}${n === 1 ? '' : 's'}`;

/** some are a few of many names. @param {string[]} names @param {number} [most] */
export function some(names, most = 3) {
  if (names.length <= most) return names.length < 2 ? names.join('') : names.slice(0, -1).join(', ') + ' and ' + names[names.length - 1];
  return `${names.slice(0, most).join(', ')} and ${names.length - most} more`;
}

/** waveName is the name of a wave. @param {{phase?: string, wave: number}} lane */
export function waveName(lane) {
  const phase = lane.phase && lane.phase !== 'Sync' ? lane.phase + ' ' : '';
  return `${phase}${phase ? 'wave' : 'Wave'} ${lane.wave}`;
}
