import 'maplibre-gl/dist/maplibre-gl.css';
import './theme.css';
import { Map, setWorkerUrl } from 'maplibre-gl';
import workerUrl from 'maplibre-gl/dist/maplibre-gl-worker.mjs?url';
import { loadEngine } from './engine';

setWorkerUrl(workerUrl);
const app = document.querySelector<HTMLElement>('#app')!;
const container = document.createElement('div');
container.style.height = '70vh';
app.append(container);
new Map({ container, style: { version: 8, sources: {}, layers: [] } });
if (loadEngine) {
  const root = document.createElement('section');
  app.append(root);
  void loadEngine().then((engine) => engine.mountEngine(root, { fetch: window.fetch.bind(window) }));
}
