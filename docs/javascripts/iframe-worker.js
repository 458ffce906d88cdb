// Search when the site is opened from a folder. Browsers refuse workers there; a hidden frame does the worker's
// work instead. The name of this file tells the plugin "offline" not to fetch such a script from elsewhere.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      // What the worker calls sends to the page; the frame's own postMessage stays, for the page to send to it.
      frame.srcdoc =
        "<script>const postMessage = message => parent.postMessage(message, '*');</script>" +
        `<script src="${url}"></script>`;
      this.ready = new Promise(resolve => frame.addEventListener("load", () => resolve(frame.contentWindow)));
      addEventListener("message", event => {
        if (event.source === frame.contentWindow) {
          this.dispatchEvent(new MessageEvent("message", { data: event.data }));
        }
      });
      document.body.appendChild(frame);
    }

    postMessage(message) {
      this.ready.then(worker => worker.postMessage(message, "*"));
    }
  };
  window.Worker = window.IFrameWorker;
}
