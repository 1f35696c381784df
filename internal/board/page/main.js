// @ts-check
// The page: it connects the parts.

import { byId } from './dom.js';
import { listen, changed, store } from './state.js';
import { connect, guard } from './source.js';
import { drawLanes } from './lanes.js';
import { drawHero } from './hero.js';
import { drawDetail } from './detail.js';

listen(drawLanes);
listen(drawHero);
listen(drawDetail);
connect(async () => {});
setInterval(() => { if (store.scene?.mode === 'live' && store.time === null) changed(); }, 1000);
