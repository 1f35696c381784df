// @ts-check
// The page: it connects the parts.

import { byId } from './dom.js';
import { listen, changed, store } from './state.js';
import { connect, guard } from './source.js';
import { drawLanes } from './lanes.js';
import { drawHero, toBlocker } from './hero.js';
import { drawDetail } from './detail.js';
import { start, drawTime, play } from './timeline.js';
import { drawGantt, toggleGantt } from './gantt.js';
import { drawEdges, toggleEdges } from './edges.js';
import { startFilter, drawFilters } from './filter.js';
import { fromAddress, toAddress } from './address.js';
import { startKeys, help } from './keyboard.js';
import { startTheme, toggleTheme } from './theme.js';
import { startExport } from './export.js';
import { login } from './login.js';
import { showFindings } from './findings.js';

startTheme();
const address = fromAddress();
start();
startFilter();
startKeys();
startExport();
byId('b-why').addEventListener('click', toBlocker);
byId('b-findings').addEventListener('click', showFindings);
byId('b-edges').addEventListener('click', toggleEdges);
byId('b-gantt').addEventListener('click', toggleGantt);
byId('b-theme').addEventListener('click', toggleTheme);
byId('b-help').addEventListener('click', help);
window.addEventListener('resize', changed);

for (const draw of [drawFilters, drawLanes, drawHero, drawDetail, drawTime, drawGantt, drawEdges, toAddress]) listen(draw);

// A simulation is there to be played.
let begun = false;
listen(() => {
  if (begun || !store.scene) return;
  begun = true;
  if (store.scene.mode === 'simulation' && !store.scene.paced && !address.has('t') && !address.has('app')) play();
});

connect(login);
guard(login);
// Ages grow while nothing happens.
setInterval(() => { if (store.scene?.mode === 'live' && store.time === null) changed(); }, 1000);
