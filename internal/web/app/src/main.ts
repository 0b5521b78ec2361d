import 'maplibre-gl/dist/maplibre-gl.css';
import './theme.css';
import './page.css';
import { App } from './app';

void new App().start();
